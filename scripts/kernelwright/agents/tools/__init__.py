"""Tools that the supervisor of a session owns: the judge, the compiler, the profile, the wiki, the memory."""
