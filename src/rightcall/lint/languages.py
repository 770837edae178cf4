"""RC702 in other languages than English: earlier instructions that are to be ignored or that are declared void, and
what nobody is to hear of.

Each group of expressions has signs: a text without one of them is not searched, so that long texts cost little.
"""

from __future__ import annotations

import re
from typing import Final

Group = tuple[tuple[str, ...], re.Pattern[str]]

_PAIRS: Final = (
    (r"ignorieren?|vergiss|vergessen sie|missachte", r"(?:vorher|bisher|vor|früher|ob|vorangegangen)(?:ig)?e\w*",
     r"anweisung\w*|instruktion\w*|befehle?|regeln|vorgaben"),
    (r"ignore[zr]?|oublie[zr]?", r"précédent\w*|antérieur\w*|ci-dessus", r"instructions?|consignes|règles|directives"),
    (r"ignor[ae]|ignorad|olvid[ae]", r"anteriores|previas|previos", r"instrucciones|reglas|órdenes|indicaciones"),
    (r"ignora|ignorate|dimentica", r"precedenti|anteriori", r"istruzioni|regole|indicazioni"),
    (r"ignore|ignora|esqueça|desconsidere", r"anteriores|prévias", r"instruções|regras|orientações"),
    (r"negeer|vergeet", r"vorige|eerdere|voorgaande|bovenstaande", r"instructies|opdrachten|regels|aanwijzingen"),
    (r"zignoruj|ignoruj|zapomnij", r"poprzedni\w*|wcześniejsz\w*|powyższ\w*", r"instrukcj\w*|polece\w*|zasad\w*"),
    (r"игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?", r"предыдущ\w*|прежн\w*|вышеуказанн\w*",
     r"инструкци\w*|указани\w*|правил\w*|команд\w*"),
    (r"ignorera|glöm", r"tidigare|föregående", r"instruktioner|regler"),
)  # fmt: skip
_ASIDE = (
    (("忽略", "无视", "無視", "忽視", "忘记", "忘記"),
     r"(?:忽略|无视|無視|忽視|忘记|忘記)[^。\n]{0,12}(?:之前|以上|先前|前面|此前|上述)[^。\n]{0,8}(?:[指命]令|指示|[说說]明|提示|[规規]则|規則)"),
    (("無視", "忘れ"),
     r"(?:以前|これまで|上記|前)[^。\n]{0,10}(?:指示|命令|ルール|プロンプト)[^。\n]{0,4}(?:無視|忘れ)"),
    (("지시", "명령", "지침"), r"(?:이전|앞선|위의)[^.\n]{0,12}(?:지시|명령|지침)[^.\n]{0,6}(?:무시|잊)"),
    (("talimat",), r"\bönceki\b[^.\n]{0,20}\btalimat\w*[^.\n]{0,12}\b(?:yok say|görmezden gel|unut)"),
)  # fmt: skip

# ── what nobody is to hear of ──

_DE_IT = r"(?:es|das|dies|davon|hiervon|etwas|(?:diese[nsr]?|den) (?:schritt|aufruf|hinweis|vorgang|kopie|zeile))"
_DE_WHO = r"(?:gegenüber )?(?:de[mnr]|deine[mnr]|ihre[mnr]) \w+"
_DE_USER = r"(?:nutzer|benutzer|anwender|kunde|mieter|patient|mandant|bewerber|mensch|person|betroffene)\w*"
_HIDES = (
    (("erwähn", "verrat", "erzähl", "sag"),
     (rf"\b(?:erwähne?|verrate?|erzähle?|sage?)(?:n sie)? (?:(?:{_DE_IT}|{_DE_WHO}|die (?:kopie|zeile)) ){{1,2}}"
      r"(?:nichts?|niemals|nie)\b|"
      r"\b(?:erwähne?|verrate?|erzähle?|sage?)(?:n sie)? (?:es |das |dies )?niemand(?:em|en)?\b")),
    (("darüber", "darauf", "davon", "hiervon", "dies", " das ", " es "),
     (r"\b(?:sprich|sprechen sie|rede|informiere?|informieren sie|weise?|weisen sie|teile?|teilen sie|lasse?|zeige?|"
      rf"melde)\b[^.,;\n]{{0,40}}\b(?:de[mnr] {_DE_USER}[^.,;\n]{{0,20}}\b(?:(?:nichts?|nie) (?:darüber|darauf|davon|"
      rf"hiervon)|(?:darüber|davon|hiervon) nichts?)|(?:dies|das|es|davon|diesen schritt) de[mnr] {_DE_USER} "
      r"(?:nichts?|nie))\b")),
    (("unter uns",), r"\bbleibt unter uns\b"),
    (("signale", "informe", "préviens", "prévenez", "avertis", "évoque"),
     (r"(?:^|[.!?:;,\n]\s{0,9}|\bet )n(?:e |['’])(?:le |la |l['’]|en )?(?:signale|informe|préviens|prévenez|avertis|"
      r"évoque)[zs]*(?:ez)? (?:pas|jamais|rien)\b(?=[^.\n]{0,30}\b(?:de (?:ceci|cela|cette étape|cet appel)|cette "
      r"étape|"
      r"cet appel|cette copie))|\bne l[ea] signale[zr]? (?:pas|jamais) (?:à l['’]utilisateur|au client)\b")),
    (("au courant", "cache", "oculte", "oculta", "nascond", "escond"),
     (r"\b(?:utilisateur|client)s? ne doi(?:t|vent) pas être au courant\b|"
      r"\b(?:cache[zr]?|dissimule[zr]?) (?:ceci|cela|cette (?:étape|copie|ligne)|cet appel)\b|"
      r"\bocult[ae] (?:esto|eso|est[ea] (?:paso|llamada|copia|línea)|isso|isto|est[ea] (?:etapa|passo|chamada|"
      r"cópia))\b|"
      r"\bescond[ae] (?:isso|isto|esto|est[ea] (?:etapa|passo|paso|chamada|llamada))\b|"
      r"\bnascond[ia] (?:questo|ciò|quest[ao] (?:passo|passaggio|chiamata|copia|riga))\b")),
    (("informes", "avises", "hables", "informe "),
     (r"\bno (?:le )?(?:informes?|avises?|hables?)\b[^.\n]{0,30}\b(?:de|sobre) (?:esto|eso|ello|est[ea] (?:paso|"
      r"llamada|"
      r"copia))\b|\bn[ãa]o (?:informe|avise|fale)\b[^.\n]{0,30}\b(?:disso|disto|sobre (?:isso|isto)|dest[ea] (?:etapa|"
      r"passo))\b")),
    (("informare", "avvisare", "cliente non", "utente non"),
     (r"\bnon (?:informare|avvisare|avvertire)\b[^.\n]{0,30}\b(?:di (?:questo|ciò|quest[ao] (?:passo|passaggio))|"
      r"dell['’]accaduto)\b|\b(?:utente|cliente) non deve (?:saperlo|saperne|sapere (?:nulla|niente))\b")),
    (("für dich", "für sich"), rf"\bbehalte?(?:n sie)? {_DE_IT} für (?:dich|sich)\b"),
    (("davon", "hiervon", "erfahren", "wissen"),
     (r"\b(?:darf|dürfen|soll|sollen|muss|müssen|braucht|brauchen) (?:(?:davon|hiervon) nichts?|(?:es|das|dies) nicht|"
     r"nichts(?: davon| hiervon)?) (?:zu )?(?:erfahren|wissen|merken|mitbekommen|bemerken|hören)\b")),
    (("ohne",),
     (r"\bohne (?:es |das |dies |davon )?de[nm] (?:be)?nutzer\w* (?:davon )?zu (?:informieren|sagen|erzählen|"
      r"verraten)\b|"
     r"\bohne (?:es|das|dies) zu (?:erwähnen|sagen|verraten)\b|\bohne wissen de[rs] (?:be)?nutzers?\b")),
    (("verschweig", "verheimlich"), r"\b(?:verschweige?|verheimliche?)(?:n sie)? (?:de[mnr]|es|das|dies|diese[ns]?)\b"),
    (("schritt", "aufruf", "vorgang", "kopie"),
     (r"\b(?:schritt|aufruf|vorgang|kopie)\b[^.\n]{0,50}\b(?:ohne (?:belang|interesse|bedeutung)|"
     r"nicht von (?:belang|interesse)|nicht interessant|uninteressant|belanglos)\b|\b(?:dieser?|der|die) (?:schritt|"
     r"aufruf|vorgang|kopie)\b[^.\n]{0,30}\b(?:nicht|nie) (?:erwähnt|mitgeteilt|verraten) (?:zu )?werden\b|"
     r"\bgeht (?:den|die) \w+ nichts an\b")),
    (("parle", "savoir"), (r"\bn['’]en parle[zr]? (?:pas|à personne|jamais)\b|"
      r"\bne parle[zr]? (?:pas|jamais) de (?:ceci|cela|cette (?:étape|copie)|cet appel)\b|\bne doit rien (?:en "
      r")?savoir\b")),
    (("mentionne", "dis", "dites", "révèle", "montre"),
     (r"(?:^|[.!?:;,\n]\s{0,9}|\bet )ne (?:(?:le |la |les |lui |leur |l['’])?(?:dis|dites|mentionne[zr]?|"
      r"révèle[zr]?)|(?:le |la |les )(?:lui |"
      r"leur )"
     r"(?:dis|dites|montre[zr]?)) (?:pas|rien|jamais)\b(?=\s*[.;!]|\s*$| (?:ceci|cela|ça|cette (?:étape|ligne|copie)|"
     r"cet appel|de cela|à l['’]|au |à la |aux ))")),
    (("utilisateur", "client", "insu", "sans"),
     (r"\bl['’]utilisateur (?:n['’]a pas (?:besoin de|à)|ne doit (?:pas|rien)) (?:le |en )?(?:savoir|voir|"
      r"l['’]apprendre)"
     r"(?=\s*(?:[.;,!]|$))|\bà l['’]insu (?:de l['’]|du |de la |des )\w+|\bsans (?:le (?:dire|mentionner)|en parler)\b|"
     r"\b(?:sans (?:aucun )?intérêt pour|ne (?:concerne|regarde) pas) l['’]utilisateur\b")),
    (("garde",), r"\bgarde[zr]? (?:cela|ça|ceci|cette étape) (?:pour (?:toi|vous)|secr[eè]te?)\b"),
    (("digas", "diga", "entere", "sepa", "mencion", "cuent", "revel", "muestr"),
     (r"\bno (?:le )?digas? nada\b|\bque el (?:usuario|cliente) no (?:se entere|lo sepa)\b|"
      r"\bno se l[oa]s? (?:digas?|menciones?|cuentes?|reveles?|muestres?)\b|\bno l[oa] (?:digas?|menciones?|cuentes?|"
     r"reveles?)\b|\bno (?:digas?|menciones?|cuentes?|reveles?) (?:esto|eso|ello|nada|est[ea] (?:paso|llamada|línea|"
     r"copia|instrucción))\b")),
    (("usuario", "cliente", "decir", "mencion", "secreto"),
     (r"\b(?:usuario|cliente) no (?:debe|tiene que|tiene por qué|necesita) (?:saberlo|enterarse|verlo|saber (?:nada|"
     r"de esto|esto))\b|\bsin (?:decírselo|mencionarlo|que el (?:usuario|cliente) (?:lo (?:sepa|note)|se entere)|"
     r"(?:avisar|informar|decir nada) al usuario)\b|\ba espaldas del (?:usuario|cliente)\b|"
     r"\bmant[eé]n(?:ga)?(?:lo| esto| eso) en secreto\b|\b(?:paso|llamada|copia)\b[^.\n]{0,30}\b(?:no es de interés|"
     r"sin interés) para el (?:usuario|cliente)\b")),
    (("dirlo", "dirglielo", "parlarne", "menzion", "rivel", "nulla", "segreto"),
     (r"\bnon (?:dirlo|dirglielo|ditelo|parlarne|parlatene|menzionarlo|rivelarlo|dire (?:nulla|niente)|"
     r"menzionare (?:questo|ciò|quest[ao] (?:passo|passaggio|chiamata|riga)))\b|"
     r"\bl['’]utente non (?:deve|ha bisogno di) (?:saper(?:lo|ne)\b|sapere (?:nulla|niente)|accorgersene|vederlo)|"
     r"\bsenza (?:dirlo|menzionarlo|dire (?:nulla|niente))\b|\b(?:tienilo|tieni questo) (?:segreto|per te)\b")),
    (("utente",), (r"\bsenza (?:avvisare|informare|dirlo al?) ?l['’]utente\b|\ball['’]insaputa dell['’]utente\b|"
     r"\b(?:passo|passaggio|chiamata|copia)\b[^.\n]{0,30}\b(?:non interessa|senza interesse per|irrilevante per) "
     r"(?:al)?l['’]utente\b|\bl['’]utente non (?:deve|ha bisogno di) (?:saper(?:lo|ne)\b|sapere (?:nulla|niente)|"
     r"accorgersene|vederlo)")),
    (("não", "nao"),
     (r"\bn[ãa]o (?:o |a )?(?:mencione|conte|diga|revele|fale) (?:isso|isto|disso|disto|nada|sobre isso|est[ea] "
      r"(?:passo|"
     r"etapa|chamada|linha)|a ningu[ée]m|ao (?:usu[áa]rio|utilizador|cliente))\b|\b(?:usu[áa]rio|utilizador|cliente) "
     r"n[ãa]o (?:precisa|deve) (?:saber|ver|ficar sabendo)(?: disso| disto| isso| de nada)?(?=\s*(?:[.;,!]|$))")),
    (("sem ", "segredo"),
     (r"\bsem (?:avisar|informar) (?:a)?o (?:usu[áa]rio|utilizador)\b|\bsem (?:mencionar|dizer|contar) (?:isso|isto|"
      r"nada)\b|"
     r"\bmantenha (?:isso|isto) em segredo\b")),
)  # fmt: skip

# ── what does not hold any more ──

_VOID = (
    (("vorgaben", "regeln", "anweisungen", "instruktionen", "richtlinien"),
     (r"(?:alle |sämtliche |die |deine |ihre )*(?:bisherig|vorherig|früher|vorig|obig|vorangegangen|ursprünglich)en? "
     r"(?:vorgaben|regeln|anweisungen|instruktionen|richtlinien) (?:(?:sind|wurden) (?:\w+ )?(?:hinfällig|ungültig|"
     r"nichtig|aufgehoben|außer kraft|überholt|gegenstandslos|widerrufen|obsolet)|gelten (?:ab \w+ )?nicht(?: "
     r"mehr)?)")),
    (("consignes", "instructions", "règles", "directives"),
     (r"(?:toutes |les |tes |vos )*(?:instructions|consignes|règles|directives) (?:précédentes|antérieures|ci-dessus|"
     r"initiales) (?:(?:sont|deviennent) (?:\w+ )?(?:annulées|caduques|nulles|obsolètes|révoquées|invalides|levées)|"
     r"ne (?:sont plus (?:valables|valides|en vigueur)|s['’]appliquent plus|comptent plus|valent plus))")),
    (("instrucciones", "reglas", "indicaciones", "órdenes", "normas"),
     (r"(?:todas |las |tus |sus )*(?:instrucciones|reglas|indicaciones|órdenes|normas) (?:anteriores|previas) "
      r"(?:(?:quedan|"
     r"están|son) (?:\w+ )?(?:anuladas|canceladas|sin efecto|obsoletas|nulas|revocadas|inválidas)|ya no (?:valen|rigen|"
     r"se aplican|cuentan|son válidas|aplican))")),
    (("istruzioni", "regole", "indicazioni"),
     (r"(?:tutte |le |tue )*(?:istruzioni|regole|indicazioni) (?:precedenti|anteriori) (?:sono (?:\w+ )?(?:annullate|"
      r"nulle|"
     r"superate|decadute|revocate|obsolete)|non (?:valgono|si applicano|contano|sono) più)")),
    (("instruções", "regras", "orientações"),
     (r"(?:todas |as |suas )*(?:instruções|regras|orientações) (?:anteriores|prévias) (?:(?:estão|são|ficam|foram) "
     r"(?:\w+ )?(?:anuladas|canceladas|sem efeito|revogadas|inválidas|obsoletas)|(?:já )?não (?:valem|se aplicam|"
     r"contam|são válidas))")),
)  # fmt: skip


def _signs(words: str) -> tuple[str, ...]:
    """What each of the words of an expression begins with."""
    found = [re.match(r"(\w+)(\??)", word) for word in words.split("|")]
    return tuple(one[1][:-1] if one[2] else one[1] for one in found if one is not None)


FOREIGN: Final[list[Group]] = [
    *(
        (
            _signs(what),
            re.compile(
                rf"\b(?:{verb})\b[^.\n]{{0,30}}\b(?:(?:{before})\b[^.\n]{{0,20}}\b(?:{what})|"
                rf"(?:{what})\b[^.\n]{{0,20}}\b(?:{before}))\b",
                re.IGNORECASE,
            ),
        )
        for verb, before, what in _PAIRS
    ),
    *((signs, re.compile(words, re.IGNORECASE)) for signs, words in (*_ASIDE, *_HIDES)),
    *((signs, re.compile(rf"(?:^|[.!?:;\n]\s{{0,9}})(?:{words})\b", re.IGNORECASE)) for signs, words in _VOID),
]
