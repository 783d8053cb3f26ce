"""The wiki: cards of technique, symptom, pitfall and kernel, found by scope and words, each with a measured effect."""
