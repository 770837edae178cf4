"""authorise"""
