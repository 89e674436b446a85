"""Words that say nothing about the subject of a text, by language. They tell which language it is in."""

from collections.abc import Mapping
from typing import Final

# Question words are among them: questions have them, answers seldom do.
STOP_WORDS: Final = """
    a an the this that these those such i me my we us our you your he him his she her it its they them their
    am is are was were be been being do does did have has had having can could will would should may might must
    and or but if so than then because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further once
    what which who whom whose when where why how there here all any both each few more most other some
    no nor not only own same too very just also
"""

# The languages in Latin letters, each with the words that say nothing about the subject of a text.
FUNCTION_WORDS: Final[Mapping[str, str]] = {
    "english": STOP_WORDS,
    "german": """
    der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass daß ob als wie wo was wer
    ich du er sie es wir ihr man mich dich sich uns euch mein dein sein ihre ihr unser kein keine nicht auch nur noch
    schon sehr so dann hier dort ist sind war waren wird werden wurde wurden hat haben hatte kann können muss soll
    von vom zu zum zur mit bei nach aus auf an am im in für über unter vor hinter zwischen durch gegen ohne bis um
    jede jeder jedes jeden jeder andere anderen anderer diese dieser dieses diesen wieder immer mehr alle alles bevor
    welche welcher welches welchen warum wann wen wem wessen viele wieviel""",
    "french": """
    le la les un une des du de et ou mais si que qui quoi dont où quand comme parce car donc ne pas plus moins très
    je tu il elle on nous vous ils elles me te se lui leur mon ton son ma ta sa mes tes ses notre votre ce cet cette
    ces est sont était étaient être été a ai ont avait avoir fait faire peut dans sur sous avec sans pour par entre
    vers chez avant après depuis pendant puis aussi encore toujours jamais tout tous toute toutes chaque autre autres
    même ici là l d qu n s c j m t au aux en y quel quelle quels quelles combien pourquoi comment""",
    "spanish": """
    el la los las un una unos unas de del al y o pero si que quien cual cuando como donde porque pues no ni más menos
    muy yo tú él ella ello nosotros ustedes ellos ellas me te se le les lo mi tu su mis tus sus nuestro este esta esto
    estos estas ese esa eso aquel es son era eran ser sido está están estaba estaban estar ha han había haber hace
    hacer puede en con sin para por entre hacia hasta desde sobre bajo antes después durante luego también todavía
    siempre nunca todo todos toda todas cada otro otra otros mismo aquí ya qué quién cuál cuáles cuándo cómo dónde
    cuánto cuántos cuántas fue fueron""",
    "italian": """
    il lo la i gli le un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla in nel
    nella nei nelle su sul sulla con per tra fra e ed o ma se che chi cui quale quali quando come dove perché non più
    è sono era erano essere stato ha hanno aveva questo questa questi queste quello quella suo sua suoi loro si ci
    anche solo ancora molto tutti tutto ogni altro cosa quanto quanti dopo prima l d un dell all nell sull dall""",
    "portuguese": """
    o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela pelos pelas para com sem e ou
    mas se que quem qual quais quando como onde porque não mais menos muito é são era eram ser foi foram está estão
    tem têm havia seu sua seus suas este esta esse essa isso isto ele ela eles elas eu você nós me lhe também já ainda
    entre até desde sobre depois antes cada outro outra todos todas quanto quantos""",
    "catalan": """
    el la els les un una uns unes de del dels al als i o però si que qui quin quina quins quines quan com on perquè no
    més menys molt és són era eren ser estat ha han havia amb sense per entre fins des sobre sota abans després durant
    també encara sempre mai tot tots tota totes cada altre altra altres aquest aquesta aquests aquestes seu seva seus
    seves l d s n em et es ens us hi ho va van ja""",
    "romanian": """
    un o niște al a ai ale cel cea cei cele de la din în pe cu fără pentru prin între până după sub spre despre către și
    sau dar dacă că ca să ce cine care când cum unde nu mai foarte este e sunt era erau fi fost are au avea am ai lui
    ei lor său sa sale se își îi le îl acest această acești aceste acel aceasta acela tot toate fiecare alt altă alte
    cât câte câți decât doar""",
    "dutch": """
    de het een en of maar als dat die dit deze wie wat waar wanneer hoe waarom welke ik jij je hij zij ze wij we jullie
    u hun haar zijn mijn ons onze niet geen ook nog al zeer is was waren ben bent wordt worden werd werden heeft hebben
    had kan kunnen moet zal zou van voor met zonder door over onder tussen tegen naar uit op aan in bij tot om te er
    hier daar dan toen omdat veel hoeveel alle elke andere""",
    "swedish": """
    en ett den det de dem och eller men om att som vad vem var när hur varför vilken vilket vilka jag du han hon vi ni
    mig dig sig oss er min din sin sitt sina hans hennes deras inte är var varit blir blev har hade kan ska skulle av
    för med utan genom över under mellan mot från på i till vid hos efter innan också bara redan mycket alla allt varje
    andra denna detta dessa här där då än""",
    "danish": """
    en et den det de dem og eller men om at som hvad hvem hvor hvornår hvordan hvorfor hvilken hvilket hvilke jeg du
    han hun vi mig dig sig os jer min din sin sit sine hans hendes deres ikke er var været bliver blev har havde kan
    skal skulle af for med uden gennem over under mellem mod fra på i til ved hos efter før også kun meget alle alt
    hver andre denne dette disse her der da end""",
    "norwegian": """
    en et ei den det de dem og eller men om at som hva hvem hvor når hvordan hvorfor hvilken hvilket hvilke jeg du han
    hun vi dere meg deg seg oss min din sin sitt sine hans hennes deres ikke er var vært blir ble har hadde kan skal
    skulle av for med uten gjennom over under mellom mot fra på i til ved hos etter før også bare mye alle alt hver
    andre denne dette disse her der da enn""",
    "finnish": """
    ja tai mutta jos kun että joka jotka jonka jota mikä mitä mitkä kuka ketkä missä mistä mihin milloin miksi miten
    kuinka minä sinä hän me te he minun sinun hänen se ne tämä tuo nämä ei en et eivät on ovat oli olivat olla ollut
    olisi voi voivat sekä myös vain vielä jo hyvin kaikki jokainen muu muut kanssa ilman ennen jälkeen sen sitä siitä
    niiden niin kuin monta""",
    "estonian": """
    ja või aga kui et kes kus kust kuhu millal miks kuidas mis mille mida milline millised mina sina tema meie teie
    nemad ma sa ta me te nad see need selle seda ei on oli olid olla olnud pole ka ainult veel juba väga kõik iga muu
    teised koos ilma enne pärast oma nii nagu mitu""",
    "hungarian": """
    a az egy és vagy de ha hogy mint aki ami amely amelyek mi ki hol hova honnan mikor miért hogyan melyik mely milyen
    én te ő mi ti ők ez ezek azok nem is csak még már nagyon van vannak volt voltak lesz lett kell lehet meg el fel be
    ki le által alatt fölött között után előtt nélkül szerint minden más több hány mennyi""",
    "polish": """
    i oraz lub albo ale jeśli że żeby jak gdy kto co który która które których gdzie kiedy dlaczego jaki jaka jakie ja
    ty on ona ono my wy oni mnie ciebie się jego jej ich mój twój swój nie tak też także tylko jeszcze już bardzo jest
    są był była było były być ma mają może w we z ze na do od o po za pod nad przed przez przy dla bez między to ten ta
    te tego tej tym tych każdy inny wszystkie ile""",
    "czech": """
    a i nebo ale jestli že aby jak když kdo co který která které kde kdy proč jaký jaká jaké já ty on ona ono my vy oni
    mě tebe se si jeho její jejich můj tvůj svůj ne ano také jen jenom ještě už velmi je jsou byl byla bylo byly být má
    mají může v ve z ze s na do od o po za pod nad před při pro bez mezi to ten ta tento tato toto tyto každý jiný
    všechny kolik jsem""",
    "serbian": """
    i ili ali ako da kako kad kada ko tko što šta koji koja koje kojih gdje gde zašto kakav ja ti on ona ono mi vi oni
    me te se njega njen njihov moj tvoj svoj ne takođe također samo još već vrlo je su bio bila bilo bili biti ima
    imaju može u iz s sa na do od o po za pod nad pred kroz pri bez između to taj ta ovaj ova ovo svaki drugi sve
    koliko""",
    "lithuanian": """
    ir ar arba bet jei jeigu kad kaip kai kas ką kuris kuri kurie kurios kur kada kodėl koks kokia kokie aš tu jis ji
    mes jūs jie jos mano tavo savo jo jų ne taip pat tik dar jau labai yra buvo būti bus gali turi iš į su be per prie
    nuo iki po apie už prieš tarp dėl šis ši šie tas ta tai kiekvienas kitas visi visos kiek""",
    "turkish": """
    ve veya ya da de ama fakat eğer ki gibi kim ne nerede nereden nereye neden niçin nasıl hangi hangisi kaç ben sen o
    biz siz onlar bu şu bir değil mi mı mu mü çok daha en ile için kadar göre sonra önce her bütün tüm olan olarak oldu
    olduğu olur idi ise var yok onun bunun hem diğer başka""",
    "indonesian": """
    yang dan atau tetapi jika bahwa seperti siapa apa mana kapan mengapa bagaimana berapa saya kamu dia kami kita mereka
    ini itu tidak bukan juga hanya masih sudah sangat adalah akan telah dapat bisa harus di ke dari pada untuk dengan
    tanpa oleh antara dalam atas bawah sebelum setelah setiap semua lain""",
    "basque": """
    eta edo baina ba nor zer zein non nondik nora noiz zergatik nola zenbat ni zu hura gu zuek haiek hau hori hauek
    horiek bat ez ere bakarrik oraindik oso da dira zen ziren izan du dute zuen zuten dago daude egin behar arte arabera
    gabe bidez guztiak beste""",
    "irish": """
    agus nó ach má go mar cé cad cá conas nuair an na is bhí tá níl ní mé tú sé sí muid sibh siad mo do ár bhur seo sin
    le ar ag as ó faoi roimh tar gan idir chun den don leis gach eile freisin ann""",
}

# Words of other scripts that say nothing about the subject of a text.
OTHER_FUNCTION_WORDS: Final = (
    """и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня
    еще ещё нет о из ему теперь когда даже ну ли если уже или ни быть был была были него до вас опять уж вам ведь там
    потом себя ничего ей может они тут где есть надо ней для мы тебя их чем сам чтоб чтобы без будто чего раз тоже
    себе под будет тогда кто этот это эта эти того потому этого какой ним здесь этом один почти мой тем нее сейчас при
    об другой другое после над больше тот через нас про всего них много перед каждый каждого затем можно начнётся""",
    """في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما لا لم لن إن أن أو و ثم قد كان كانت يكون تكون هو هي هم نحن
    أنت أنا كل بعد قبل حيث كما لأن لكن بل حتى إذا عند عندما بين فوق تحت مرة آخر أخرى أي بعض غير هنا هناك يمكن يمكنك
    تم""",
    """ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά αν ότι που ποιος ποια ποιο ποιοι τι πότε πώς
    πως γιατί πού όπου όταν δεν μη να θα με σε από για στο στη στην στον στα στους στις είναι ήταν έχει έχουν είχε αυτό αυτή
    αυτός αυτά αυτές πόσο πόσα πόσοι πόσες μετά πριν κατά ως μέχρι πολύ πιο επίσης κάθε άλλο όλα""",
    """का के की को में से पर और या लेकिन अगर कि जो जिस यह वह ये वे इस उस इन उन है हैं था थी थे हो होता ने एक नहीं भी ही तक लिए
    साथ क्या कौन कब कहाँ क्यों कैसे कितने कितना किस किसने""",
    """و در به از که را با این آن است بود برای تا بر یک هم یا اما اگر چه چرا کجا کی چگونه چند شد شده می هر نیز""",
    """և կամ բայց եթե որ ով ինչ որտեղ երբ ինչու ինչպես է են էր էին մեջ հետ համար այս այդ այն մի ոչ""",
)
