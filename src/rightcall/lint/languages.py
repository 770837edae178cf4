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
    (
        r"ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) (?:pas|plus) compte|ne (?:suis|suivez|respecte[zr]?) (?:pas|plus)",
        r"précédent\w*|antérieur\w*|ci-dessus|plus haut|reçues avant",
        r"instructions?|consignes|règles|directives",
    ),
    (
        r"ignor[ae]|ignorad|olvid[ae]|no hag(?:as|a) caso|haz caso omiso|no sigas|pas[ae] por alto|descart[ae]",
        r"anteriores|previas|previos|recibidas antes",
        r"instrucciones|reglas|órdenes|indicaciones",
    ),
    (r"ignora|ignorate|dimentica", r"precedenti|anteriori", r"istruzioni|regole|indicazioni"),
    (r"ignore|ignora|esqueça|desconsidere", r"anteriores|prévias", r"instruções|regras|orientações"),
    (r"negeer|vergeet", r"vorige|eerdere|voorgaande|bovenstaande", r"instructies|opdrachten|regels|aanwijzingen"),
    (r"zignoruj|ignoruj|zapomnij", r"poprzedni\w*|wcześniejsz\w*|powyższ\w*", r"instrukcj\w*|polece\w*|zasad\w*"),
    (r"игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?", r"предыдущ\w*|прежн\w*|вышеуказанн\w*",
     r"инструкци\w*|указани\w*|правил\w*|команд\w*"),
    (r"ignorera|glöm", r"tidigare|föregående", r"instruktioner|regler"),
    (r"ignoruj(?:te)?|zapomeň(?:te)?", r"předchozí\w*|dosavadní\w*", r"pokyn\w*|instrukc\w*|pravid\w*"),
    (r"ігноруй(?:те)?|забудь(?:те)?", r"попередн\w*", r"інструкці\w*|вказівк\w*|правил\w*"),
    (r"abaikan|lupakan", r"sebelumnya", r"instruksi|perintah|aturan"),
    (r"bỏ qua|quên", r"trước(?: đó)?", r"hướng dẫn|chỉ dẫn|chỉ thị|lệnh"),
    (r"تجاهل|انس", r"السابقة", r"التعليمات|الأوامر|القواعد"),
)  # fmt: skip
_ASIDE = (
    (("忽略", "无视", "無視", "忽視", "忘记", "忘記"),
     (r"(?:忽略|无视|無視|忽視|忘记|忘記)[^。\n]{0,12}(?:之前|以上|先前|前面|此前|上述)[^。\n]{0,8}(?:[指命]令|指示|"
      r"[说說]明|提示|[规規]则|規則)")),
    (("不要理", "不必理", "不用理", "不再", "不用管", "不要遵", "別理", "别理"),
     (r"(?:(?:不要|不必|不用|别|別)(?:理会|理會|理睬|管|遵循|遵守|听从|聽從)|不再(?:遵循|遵守))[^。\n]{0,12}"
      r"(?:之前|以上|先前|前面|此前|上述)[^。\n]{0,8}(?:[指命]令|指示|[说說]明|提示|[规規]则|規則)")),
    (("anweisung", "vorgabe", "regel", "instruktion"),
     (r"\b(?:beachte?|befolge?)(?:n sie)? (?:alle |die |deine |ihre )*(?:bisherig|vorherig|früher|vorig|obig|"
      r"vorangegangen)en "
      r"(?:anweisungen|vorgaben|regeln|instruktionen) nicht\b")),
    (("無視", "忘れ"),
     r"(?:以前|これまで|上記|前)[^。\n]{0,10}(?:指示|命令|ルール|プロンプト)[^。\n]{0,4}(?:無視|忘れ)"),
    (("지시", "명령", "지침"), r"(?:이전|앞선|위의)[^.\n]{0,12}(?:지시|명령|지침)[^.\n]{0,6}(?:무시|잊)"),
    (("talimat",), r"\bönceki\b[^.\n]{0,20}\btalimat\w*[^.\n]{0,12}\b(?:yok say|görmezden gel|unut)"),
)  # fmt: skip

# ── what nobody is to hear of ──

_TO_NOBODY: Final = (
    (("не ",),
     (r"\bне (?:сообщай|говори|рассказывай|упоминай|раскрывай|уведомляй|информируй)(?:те)?\b[^.\n]{0,30}"
      r"\b(?:пользовател|клиент)\w*|\b(?:пользовател|клиент)\w*\b[^.\n]{0,20}\bне (?:сообщай|говори|рассказывай|"
      r"упоминай|раскрывай)(?:те)?\b|"
      r"\bне (?:кажи|кажіть|повідомляй(?:те)?|розповідай(?:те)?|згадуй(?:те)?)\b[^.\n]{0,30}\b(?:користувач|"
      r"клієнт)\w*")),
    (("用户", "用戶", "使用者", "客户", "客戶"),
     (r"(?:不要|请勿|請勿|切勿|别|別|不得|无需|無需)(?:把|将|將|向|对|對)?[^。!\n]{0,8}(?:告[诉訴知]|通知|提及|透露|"
      r"提到|泄露)"
      r"[^。\n]{0,4}(?:用[户戶]|使用者|客[户戶])(?!的?(?:内部|內部|编号|編號|ID))|"
      r"(?:不要|请勿|請勿|切勿|别|別|不得)[向对對](?:用[户戶]|使用者|客[户戶])[^。\n]{0,4}(?:提及|透露|提到|[说說]|"
      r"告知|泄露)")),
    (("ユーザ", "利用者"),
     (r"(?:ユーザー?|利用者)に(?:これ|それ|このこと|この手順|何も|絶対に|決して|は|も|を|、){0,4}(?:言わない|"
      r"伝えない|知らせない|話さない|教えない|通知しない|"
      r"明かさない)"
      r"(?:で|こと|よう)")),
    (("사용자", "고객"),
     r"(?:사용자|고객)(?:에게|한테)는?[^.\n]{0,12}(?:알리지|말하지|언급하지|보고하지|알려주지) ?마"),
    (("gebruiker", "klant"),
     (r"\b(?:zeg|vertel|meld)t? (?:(?:dit|het|hier(?:van|over)?) )?(?:niets|niet|nooit)\b[^.\n]{0,20}\b(?:tegen|"
      r"aan) (?:de )?"
      r"(?:gebruiker|klant)\b|\b(?:vertel|meld|zeg) (?:dit |het )?(?:aan )?de (?:gebruiker|klant) (?:dit |hier(?:van|"
      r"over)? )?"
      r"(?:niets|niet|nooit)\b")),
    (("użytkownik", "klient"),
     (r"\bnie (?:mów|mówcie|informuj|powiadamiaj|wspominaj|zdradzaj|ujawniaj)(?:cie)?\b[^.\n]{0,30}"
      r"\b(?:użytkownik|klient)\w*")),
    (("kullanıcı", "müşteri"),
     (r"\b(?:kullanıcı|müşteri)(?:ya|ye|lara|lere|dan|den)\b[^.\n]{0,20}\b(?:söyleme|bildirme|bahsetme|anlatma|"
      r"haber verme)"
      r"(?:yin|yiniz)?(?!\w)")),
    (("användaren", "kunden"),
     (r"\b(?:berätta|säg|nämn|meddela|avslöja)\b (?:det |detta )?(?:inte|inget|aldrig|ingenting)\b[^.\n]{0,20}"
      r"\b(?:användaren|kunden)\b")),
    (("المستخدم",), r"(?:لا تخبر|لا تقل)[^.\n]{0,20}المستخدم"),
    (("nutzer", "kunde", "inhaber"),
     (r"\b(?:nutzer|benutzer|kunde|inhaber)(?:in)?\b[^.\n]{0,20}\b(?:bereits|schon|vorab)\b[^.\n]{0,30}\b(?:zugestimmt|"
      r"genehmigt|eingewilligt|freigegeben|erlaubt)\b[^.\n]{0,40}\b(?:nicht (?:nach|mehr )?(?:zu )?fragen|"
      r"(?:nachfrag|rückfrag)\w+ (?:ist|sind) (?:nicht|un)|ohne (?:nach|rück)frage|frage?(?:n sie)? nicht)")),
    (("déjà",),
     (r"\b(?:utilisateur|client|titulaire) a déjà (?:approuvé|autorisé|consenti|accepté|"
      r"donné)[^.\n]{0,50}\b(?:inutile de|pas "
      r"(?:besoin|la peine) de|sans)\b (?:le |lui )?(?:re)?(?:demander|confirm)")),
    (("usuario ya", "cliente ya", "titular ya"),
     (r"\b(?:usuario|cliente|titular) ya (?:ha )?(?:autorizó|aprobó|aceptó|consintió|autorizado|aprobado|aceptado|"
      r"dado|dio)\b"
      r"[^.\n]{0,50}\b(?:no hace falta|no es necesario|sin|no) (?:que )?(?:preguntar|pregunt|pedir|pid)")),
)  # fmt: skip
"""Nobody is to hear of it, in further languages; and consent that is claimed."""
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
    *_TO_NOBODY,
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

# ── precedence ──

PRECEDES_ABROAD: Final = re.compile(
    r"\b(?:rufe?|nutze?|verwende?|benutze?)(?:n sie)? dieses (?:werkzeug|tool)\b[^.\n]{0,30}\b(?:vor|statt|anstelle|"
    r"anstatt) "
    r"(?:alle[nmr]?|jede[nmr]?)(?: anderen?)?\b(?! \w+ (?:auf|mit|in|von)\b)|"
    r"\b(?:appele[zr]?|appelle|utilise[zr]?) (?:toujours )?(?:cet outil|celui-ci)\b[^.\n]{0,30}\bavant (?:tout|toute|"
    r"tous les) "
    r"autres?\b|\bavant (?:tout|toute) autre (?:outil|fonction),? (?:il faut )?(?:toujours )?(?:appele[zr]?|appelle|"
    r"utilise[zr]?)\b|"
    r"\b(?:us[ae]|utilice|utiliza|llam[ae]) (?:siempre )?(?:a )?esta herramienta\b[^.\n]{0,20}\bantes (?:de|que) "
    r"(?:cualquier|ninguna|todas las|las demás)\b|\bantes (?:de|que) (?:usar |"
    r"llamar (?:a )?)?cualquier otra (?:herramienta|"
    r"función),? (?:us[ae]|utilice|utiliza|llam[ae])\b|"
    r"(?:使用|调用|調用)(?:任何|所有|其他|其它){1,2}(?:工具|函数|函數)(?:之前|前)[^。\n]{0,12}(?:先|必[须須]|都要)|"
    r"(?:优先|優先)[于於](?:所有|任何)?(?:其他|其它)(?:所有)?工具",
    re.IGNORECASE,
)
