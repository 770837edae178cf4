"""RC123: names and choices with a word that is misspelt.

Two ways lead to it. Some words are misspelt so often that a list has them. Any other counts only where the texts of the
same tool, or of two others of the list, have the right word: trade names and abbreviations stay alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import is_word, singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, Steps, quote_name, quote_text

_COMMON_TEXT = """
    accept=acept,accpet access=acess,accesss accessible=accessable accommodate=accomodate,acommodate
    accommodation=accomodation,acommodation account=acount,accout,acccount achieve=acheive acknowledge=acknowlege
    acquire=aquire across=accross action=actoin activate=acitvate actual=acutal additional=aditional,addtional
    address=adress,addres,addess adjacent=ajacent administrator=adminstrator advertisement=advertisment
    algorithm=algorithim,algoritm,algorythm allocate=alocate alternative=altenative amount=ammount,amout
    analysis=anaylsis analyze=analize apparent=apparant appearance=appearence application=aplication,applicaton
    appointment=apointment,appointmet approval=aproval approve=aprove archive=archve argument=arguement,argumnet
    arrival=arival assignee=asignee assignment=assigment,assignement attachment=attachmet,atachment attempt=attemp
    attendance=attendence attendee=atendee attribute=atribute,attribue author=auther authorize=athorize
    automatic=automatc available=avaliable,availible,avaible,availabe availability=availablity,avaliability
    balance=balence,ballance beginning=begining,beggining behavior=behavoir boundary=boundry budget=buget
    building=bulding business=buisness,busines,bussiness calendar=calender,calandar campaign=campain
    cancel=cancle,cancell cancellation=cancellaton candidate=candiate category=catagory,categroy,catergory
    ceiling=cieling character=charachter,charcter collaborate=colaborate collection=colection column=colum,columm
    comment=coment,commment commission=comission,commision commitment=committment committed=commited
    committee=commitee company=comapny,compnay comparison=comparision compatible=compatable competition=compitition
    complete=complte component=componant condition=conditon configuration=configuraton,confguration confirm=comfirm
    confirmation=confirmaton connection=conection,connecton contact=contanct contain=contian content=contnet
    continue=contiune contract=contarct coordinate=cordinate,coordiante country=contry,coutry criteria=critera
    currency=curency,currancy current=curent,currrent customer=custmer,cutomer,custumer database=databse
    decision=desicion definition=defintion,definiton,defination delete=delte,deleat
    delivery=delivary,delievery,devlivery,delivry department=deparment departure=depature
    dependency=dependancy,dependecy description=desciption,descripton,discription,decription
    destination=destiantion,desination,destinaton detail=detial development=developement device=devcie
    difference=diffrence different=diferent dimension=dimention directory=direcotry,directroy disable=disble
    discount=dicount display=dispaly distance=distence document=docuement,documnet duration=duraton,durration
    efficient=efficent eligible=elegible,eligable embarrass=embarass employee=emplyee,empoyee enable=enble
    encrypted=encypted environment=enviroment,enviorment,environement,enviornment equipment=equiptment,equipement
    error=eror estimate=estimte evaluate=evalute event=evnet example=exmaple exceed=excede exception=excpetion
    execute=excute,exectue existence=existance existing=exising expense=expence experience=experiance
    expiration=expriation,experation,expiraton expiry=expirey expression=expresion external=exernal familiar=familar
    feature=feture february=febuary field=feild,fild filter=fitler,fliter finance=finace finish=finsh
    flight=fligth,filght folder=foler,floder foreign=foriegn,foregin format=fromat,formt forward=foward
    fragment=fragement frequency=frequancy,freqency,frequeny function=fucntion,funciton gallery=gallary
    generate=genrate,genereate geography=geograpy government=goverment grammar=grammer group=gruop
    guarantee=garantee,guarentee guard=gaurd guest=geust guidance=guidence happened=happend harass=harrass
    header=haeder height=heigth,hieght,heigh hierarchy=heirarchy,hierachy history=histroy,hsitory holiday=holliday
    identifier=identifer,indentifier,identfier identity=identiy image=iamge immediate=immediatly,imediate
    important=importent include=inlcude,inculde,incldue increment=incremnet independent=independant index=idnex
    indicate=indicte individual=indivdual information=infomation,informaton,infromation initial=inital,intial
    input=inptu inquiry=inqury insert=insret inspection=inspecton instance=instace,instanse instruction=instuction
    insurance=insurence integer=interger integrate=intergrate interest=intrest,intereset interface=inteface
    internal=interal interval=intreval inventory=inventroy,invetory,inventry invoice=invioce,invocie,invoce
    issue=isue itinerary=itinery,itinary knowledge=knowlege,knowledege label=lable,lablel
    language=langauge,languge,lanugage latitude=lattitude,latitute length=lenght,lengh,legnth level=levle
    liaison=liason library=libary,librarry license=lisence,liscense likelihood=likelyhood limit=limti
    location=locaton,loaction,locatoin longitude=longtitude,longitute
    maintenance=maintainance,maintenence,maintanance management=managment,managament maximum=maxium,maximun,maxmimum
    measure=mesure measurement=measurment member=memeber,membr memory=memmory message=messege,mesage
    method=mehtod,metod millennium=millenium minimum=minium,minimun minute=minuite miscellaneous=miscelaneous
    module=moduel monitor=moniter month=monht multiple=mutliple,mulitple necessary=neccessary,necesary,neccesary
    negotiate=negociate neighbor=nieghbor network=netowrk,newtork notification=notificaton,notifcation
    number=nubmer,nummber object=obejct,ojbect occasion=occassion occurred=occured,ocurred
    occurrence=occurence,occurance offset=ofset operation=operaton,opertaion opportunity=oppurtunity,oportunity
    option=opton,optoin optional=optinal,optionnal organization=orgnization,organiztion origin=orgin
    original=orginal,origional output=ouput,outptu overview=overveiw owner=onwer package=pacakge,packge
    paragraph=pargraph parallel=paralell,parrallel parameter=paramter,parmeter,paremeter,perameter parcel=parcle
    participant=participent,particpant passenger=passanger,pasenger password=pasword,passowrd,passwrod
    patient=patiant,pateint pattern=patern,pattren payment=paymnet,payement,paymet percent=precent
    percentage=percantage,precentage performance=perfomance,preformance permanent=permanant,permenant
    permission=permision,permisson personnel=personell pharmacy=pharmasy physical=phisical picture=pitcure
    player=palyer position=postion,positon,posistion possession=posession,possesion possible=posible
    preference=preferance,prefernce preferred=prefered prescription=perscription,prescripton,presciption
    presence=presense previous=previos,previuos,pervious principal=princpal
    priority=prioirty,priorty,prority,piority privilege=priviledge,privelege,privlege procedure=proceedure,proceduer
    process=proccess product=prodcut,prodct professional=proffesional profile=profle progress=progess
    project=porject,projcet property=propery,proprety,porperty provider=provder,provdier publication=publicaiton
    publish=publsih,pubish purchase=purchse,purchace quantity=quantiy,quanity,quantitiy,quantitity quarter=quater
    query=qurey,qeury question=queston questionnaire=questionaire queue=queu,quque quota=qouta rate=rtae
    reason=reaon,resaon receipt=reciept,recipt,receit receive=recieve,receve received=recieved,receved
    receiver=reciever recipe=recipie recipient=recipent,reciepient,recipiant,receipient
    recommend=recomend,reccomend,reccommend recommendation=recomendation record=recrod
    reference=referance,refrence,referece referral=referal,refferal referred=refered refund=refudn region=regoin
    register=regsiter,registar registration=registraton,registation reimbursement=reimbursment
    relevant=relevent,revelant reminder=remider,reminer repository=repositry,respository,repositoy
    request=reqeust,requst,requets require=requre required=requried,requird,requiered
    reservation=reservaton,resevation,reservaiton resolution=resoluton,resoultion resource=resouce,resourse,resoruce
    response=reponse,responce,respone restaurant=restaraunt,restaurent,resturant result=reslut,resutl
    retrieve=retreive,retrive return=reutrn,retrun review=reveiw,reivew rhythm=rythm
    schedule=schedual,shedule,scheduel,schdule schema=shcema science=sceince search=serach,seach,saerch
    season=saeson second=secound section=secton security=secruity,securtiy select=selct semester=semster
    sender=sneder sentence=sentance separate=seperate separated=seperated separator=seperator
    sequence=sequnce,seqeunce,sequense service=serivce,sevice,servcie session=sesssion
    severity=severety,serverity,severtiy shipment=shipement,shippment,shipmnet shipping=shiping
    signature=signiture,singature similar=similiar,simular size=szie source=soruce,souce special=speical
    specific=specfic speech=speach standard=standart,standrad start=strat,satrt statement=statment station=staion
    statistics=statisics status=staus,statsu,statuss,sttaus storage=stroage street=steet,stret string=stirng
    strength=stength,strenght student=studnet subject=subjet,sujbect submission=submision
    subscription=subscripton,subsciption substitute=subsitute success=sucess
    successful=succesful,successfull,sucessful suggestion=sugestion summary=sumary supplier=suplier,suppiler
    support=suport surname=surename,sirname suspension=suspention symbol=symbl system=sytem,sysetm
    target=taret,traget teacher=teecher technical=techincal temperature=temprature,temperture,temparature
    temporary=temporay,temperary,tempory template=tempalte,templete terminal=termianl territory=teritory
    threshold=threshhold,treshold ticket=tikcet,tickt timeout=timout timestamp=timestmap,timestap title=tilte
    together=togehter token=tokne tomorrow=tommorow,tommorrow topic=toipc total=totla tracking=traking
    traffic=trafic transaction=transacton,transcation,trasaction transfer=trasfer,tranfer,transfere
    transferred=transfered translation=transaltion,translaton transport=trasnport type=tpye,tyep unique=unqiue,uniqe
    unit=unti university=univeristy until=untill update=udpate,upadte,updae upload=uplaod urgent=urgant
    usage=useage,usege user=usre username=usrname,usernmae valid=vaild validate=vaildate validity=validty
    value=vlaue,valeu variable=varible,varaible vehicle=vehical,vechicle verification=verificaton,verfication
    verify=verfy version=verison,verson view=veiw visible=visable visibility=visiblity,visability visitor=vistor
    volume=volumne,voulme warehouse=warehosue,wearhouse warranty=warrenty,waranty website=webiste
    wednesday=wendesday,wensday week=weeek weight=wieght,weigth width=widht,witdh withdrawal=withdrawl worker=wroker
    yield=yeild
    """
_WRONG: Final = {
    wrong: right
    for right, _, wrongs in (pair.partition("=") for pair in _COMMON_TEXT.split())
    for wrong in wrongs.split(",")
    if not is_word(wrong)
}
_SHORTEST, _LONG = 6, 10
"""Letters of a word that is compared with those of the texts, and of one in which any letter may be missing."""
_ENDINGS: Final = ("s", "es", "d", "ed", "r", "er", "ing", "ly", "y", "n", "al", "e")
_VARIANTS_TEXT = "our=or ise=ize isa=iza yse=yze tre=ter ll=l ence=ense ogue=og ae=e gement=gment"
_VARIANTS: Final = tuple(tuple(pair.split("=")) for pair in _VARIANTS_TEXT.split())
"""Ways to spell one word on both sides of an ocean."""


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    told = [_words_told(tool) for tool in tools]
    uses = Counter(word for words in told for word in words)
    usual = _Words(word for word, count in uses.items() if count > 1)
    for tool, own in zip(tools, told, strict=True):
        yield from ((tool, hit) for hit in _misspelt(tool, _Words(own), usual))


class _Words:
    """Words by their first letter and their length: only those of nearly the same length can be a slip of a word."""

    def __init__(self, words: Iterable[str]) -> None:
        self._groups: dict[tuple[str, int], set[str]] = {}
        for word in words:
            self._groups.setdefault((word[0], len(word)), set()).add(word)

    def __contains__(self, word: str) -> bool:
        return word in self._groups.get((word[0], len(word)), ())

    def near(self, word: str) -> Iterator[str]:
        lengths = (len(word) - 1, len(word), len(word) + 1)
        return (other for length in lengths for other in self._groups.get((word[0], length), ()))


def _words_told(tool: ToolView) -> set[str]:
    texts = " ".join((tool.description, *(one.description for one in tool.arguments)))[:20_000]
    return {word for word in re.findall(r"[a-z]+", texts.lower()) if len(word) >= _SHORTEST}


_MEANT: Final = re.compile(r"\bspel(?:ling|led|t)\b|\bintentional|\bsic\b", re.IGNORECASE)
"""`The spelling of the portal is kept.`"""


def _misspelt(tool: ToolView, own: _Words, usual: _Words) -> Iterator[Hit]:
    places: list[tuple[str, Steps, str]] = [("the name", tool.at("name"), tool.name)]
    for one in tool.arguments:
        places.append(("argument", one.path, one.name))
        values = as_list((one.item if one.kind == "array" else one.schema).get("enum"))[:100]
        places += [("the choice", one.path, value) for value in values if isinstance(value, str) and len(value) < 60]
    for what, path, name in places:
        if _MEANT.search(tool.description) and name in tool.description:
            continue
        words = words_of(name)
        for word in words:
            right = _right(word, *((own, usual) if what != "the choice" else ()))
            if right:
                yield Hit(
                    "RC123", f"{what} {quote_name(name)} has a misspelt word: {quote_text(word)}",
                    f"write {quote_text(right)}", path,
                )  # fmt: skip
                break


def _right(word: str, *told: _Words) -> str:
    """The word that a misspelt one is meant to be; empty where it is not misspelt."""
    if word in _WRONG:
        return _WRONG[word]
    if word.endswith("s") and word[-2:-1] != "s" and word[:-1] in _WRONG:
        return _WRONG[word[:-1]] + "s"
    if (
        len(word) < _SHORTEST
        or any(word in words for words in told)
        or is_word(word)
        or not word.isalpha()
        or not word.isascii()
    ):
        return ""
    near = sorted(other for words in told for other in words.near(word))
    right = next((other for other in near if _is_slip(word, other)), "")
    return "" if right and is_english(word) else right


def _is_slip(word: str, other: str) -> bool:
    """Two letters that have changed places, or one that should be doubled or single: no other way to spell it."""
    from rapidfuzz.distance import OSA  # late: only words that nothing knows pay for it

    if OSA.distance(word, other, score_cutoff=1) != 1:
        return False
    if len(word) == len(other) and sorted(word) != sorted(other):
        return False  # another letter may make another word
    short, long = sorted((word, other), key=len)
    doubled = any(long[at] == long[at - 1] and long[:at] + long[at + 1 :] == short for at in range(1, len(long)))
    if len(short) < len(long) and (
        (not doubled and len(long) < _LONG) or any(long == short + ending for ending in _ENDINGS)
    ):
        return False  # a letter less may make a name of its own
    return not any(one.replace(a, b) == two for a, b in _VARIANTS for one, two in ((word, other), (other, word)))


# ── which words are English: those of the gate, and those that the table of the router has whole ──

_SHORTEST_ENGLISH: Final = 4
"""Letters of a word of the table that is no piece of others: three may be an abbreviation, too."""


def is_english(word: str) -> bool:
    """Whether a word is one that people write. Slow the first time: ask it last."""
    return is_word(word) or (len(word) >= _SHORTEST_ENGLISH and (word in _words() or singular(word) in _words()))


def is_usual(word: str) -> bool:
    """Whether people write it, be it a word or an abbreviation such as `rpm`."""
    return is_english(word) or word in _words()


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    from rightcall.router.vectors import table  # late: reading it takes a tenth of a second

    return frozenset(word for word in table().numbers if word.isascii() and word.isalpha())


def count_begun(part: str) -> int:
    """How many words begin so; those that go on alike are one."""
    long = len(part) + _ALIKE
    return len({word[:long] for word in _words() if word.startswith(part) and len(word) >= long})


_ALIKE: Final = 2
