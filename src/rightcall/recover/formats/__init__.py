"""One module per family of formats; each exports `FORMATS`. The registry finds them: adding one touches one file."""
