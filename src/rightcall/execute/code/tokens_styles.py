# ruff: noqa: E501 - a language is one line
"""How languages look: marks of comments, quotes of strings, keywords."""

Style = tuple[tuple[str, ...], str, str]

_C = ("//", "/*")
STYLES: dict[str, Style] = {
    "python": (("#",), "\"\"\" ''' \" '", "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield"),
    "javascript": (_C, "\" ' `", "as async await break case catch class const continue debugger default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while with yield"),
    "java": (_C, '""" " \'', "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package private protected public record return short static super switch synchronized this throw throws true try var void volatile while"),
    "go": (_C, "\" ' `", "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var"),
    "rust": (_C, '"', "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while"),
    "c": (_C, "\" '", "auto bool break case char const continue default do double else enum extern false float for goto if inline int long register return short signed sizeof static struct switch true typedef union unsigned void volatile while"),
    "cpp": (_C, "\" '", "auto bool break case catch char class const constexpr continue default delete do double else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while"),
    "csharp": (_C, '""" " \'', "abstract as async await base bool break byte case catch char class const continue decimal default delegate do double else enum event false finally float for foreach get if in int interface internal is lock long namespace new null object out override params private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof uint using var virtual void where while yield"),
    "ruby": (("#",), "\" ' `", "BEGIN END alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield"),
    "php": (("//", "/*", "#"), "\" '", "abstract and array as break case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global if implements include instanceof interface isset list match namespace new null or print private protected public readonly require require_once return static switch this throw trait true try unset use var while yield"),
    "kotlin": (_C, '""" " \'', "abstract as break by catch class companion const constructor continue data do else enum false final finally for fun if import in init inline interface internal is lateinit null object open operator override package private protected public return sealed super suspend this throw true try typealias val var when while"),
    "swift": (_C, '""" "', "as associatedtype async await break case catch class continue default defer do else enum extension false fileprivate final for func guard if import in init inout internal is let mutating nil open operator override private protocol public repeat rethrows return self Self static struct subscript super switch throw throws true try typealias var where while"),
    "scala": (_C, '""" " \'', "abstract case catch class def do else enum extends false final finally for given if implicit import lazy match new null object override package private protected return sealed super then this throw trait true try type using val var while with yield"),
    "lua": (("--", "--[["), "\" '", "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
    "bash": (("#",), "\" ' `", "break case continue do done elif else esac exit export fi for function if in local readonly return select set shift then until while"),
}  # fmt: skip
_TYPESCRIPT = " abstract any boolean declare enum implements interface keyof namespace never number private protected public readonly string type unknown"
STYLES["typescript"] = STYLES["tsx"] = (
    _C, STYLES["javascript"][1], STYLES["javascript"][2] + _TYPESCRIPT
)  # fmt: skip
OTHER: Style = ((), '"', "")
