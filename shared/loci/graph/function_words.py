"""Words that say nothing of what a text is about, in the languages that notes are written in most."""

from typing import Final

from loci.search.words import STOP_WORDS, index_words

_WORDS: Final = (
    STOP_WORDS,
    """now new previously already still yet ever never always often every another many much one two first last
    use used using make made get got see go put set let want need like way thing well please""",
    """der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass daß ob als wie wo was wer
    ich du er sie es wir ihr man mich dich sich uns euch mein dein sein ihre ihr unser kein keine nicht auch nur noch
    schon sehr so dann hier dort ist sind war waren wird werden wurde wurden hat haben hatte kann können muss soll
    von vom zu zum zur mit bei nach aus auf an am im in für über unter vor hinter zwischen durch gegen ohne bis um
    jede jeder jedes jeden jeder andere anderen anderer diese dieser dieses diesen wieder immer mehr alle alles bevor""",
    """le la les un une des du de et ou mais si que qui quoi dont où quand comme parce car donc ne pas plus moins très
    je tu il elle on nous vous ils elles me te se lui leur mon ton son ma ta sa mes tes ses notre votre ce cet cette
    ces est sont était étaient être été a ai ont avait avoir fait faire peut dans sur sous avec sans pour par entre
    vers chez avant après depuis pendant puis aussi encore toujours jamais tout tous toute toutes chaque autre autres
    même ici là""",
    """el la los las un una unos unas de del al y o pero si que quien cual cuando como donde porque pues no ni más menos
    muy yo tú él ella ello nosotros ustedes ellos ellas me te se le les lo mi tu su mis tus sus nuestro este esta esto
    estos estas ese esa eso aquel es son era eran ser sido está están estaba estaban estar ha han había haber hace
    hacer puede en con sin para por entre hacia hasta desde sobre bajo antes después durante luego también todavía
    siempre nunca todo todos toda todas cada otro otra otros mismo aquí ya""",
    """и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня
    еще ещё нет о из ему теперь когда даже ну ли если уже или ни быть был была были него до вас опять уж вам ведь там
    потом себя ничего ей может они тут где есть надо ней для мы тебя их чем сам чтоб чтобы без будто чего раз тоже
    себе под будет тогда кто этот это эта эти того потому этого какой ним здесь этом один почти мой тем нее сейчас при
    об другой другое после над больше тот через нас про всего них много перед каждый каждого затем можно начнётся""",
    """في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما لا لم لن إن أن أو و ثم قد كان كانت يكون تكون هو هي هم نحن
    أنت أنا كل بعد قبل حيث كما لأن لكن بل حتى إذا عند عندما بين فوق تحت مرة آخر أخرى أي بعض غير هنا هناك يمكن يمكنك تم""",
    """的 了 是 在 和 也 就 都 而 及 与 或 一个 没有 我们 你们 他们 它们 你可 可以 因为 所以 但是 如果 然后 这个 那个 这些 那些 什么
    怎么 自己 之后 之前 以前 以后 其他 每次 每个 已经 还是 只是 重新 中的""",
    """これ それ あれ この その あの ここ そこ もの こと ため よう とき 前に 後に 場合 次の 中で 別の もう一度 たびに 何か""",
    """그리고 그러나 하지만 또는 이것 그것 저것 여기 거기 있는 있다 없는 없다 하는 합니다 됩니다 수 것 때 등 및""",
)
FUNCTION_WORDS: Final = frozenset(stem for words in _WORDS for stem in index_words(words))
