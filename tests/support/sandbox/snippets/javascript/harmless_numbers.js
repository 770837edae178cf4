// Large integers, dates, languages.
console.log((2n ** 200n).toString(), [3, 1, 2].sort().at(-1), Math.hypot(3, 4));
console.log(new Intl.NumberFormat("de-DE").format(1234567.891), new Intl.PluralRules("en").select(1));
console.log(new Date(0).toISOString(), new Intl.DateTimeFormat("en", { timeZone: "Europe/Berlin", hour: "2-digit", hour12: false, minute: "2-digit" }).format(new Date(Date.UTC(2024, 6, 1, 10))));
console.log("ä".normalize("NFD").length, [..."👩‍👧"].length, "straße".toUpperCase());
// > 1606938044258990275541962092341162602522202993782792835301376 3 5
// > 1.234.567,891 one
// > 1970-01-01T00:00:00.000Z 12:00
// > 2 3 STRASSE
