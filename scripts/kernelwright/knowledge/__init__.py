"""What is known of hardware: platforms and their facts, calibration of this machine, roofline floors."""
