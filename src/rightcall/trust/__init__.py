"""What this user trusts, kept in the user's own state folder, and who else may write a file."""
