"""The words of the made-up vault, in eight languages: names of topics, and what sentences are made of."""

from typing import Final

LANGUAGES: Final[dict[str, tuple[str, str, str]]] = {
    "en": (
        "graph canvas link vault template bookmark outline property hotkey workspace",
        "view settings panel search import history sharing theme",
        "you can open the note again after every change in the list and then drag it to another place because the "
        "window keeps what was written before sync starts on a new device with more than one folder",
    ),
    "de": (
        "Übersicht Leinwand Verknüpfung Tresor Vorlage Lesezeichen Gliederung Eigenschaft Tastenkürzel Arbeitsfläche",
        "Ansicht Einstellungen Bereich Suche Größe Verlauf Freigabe Gestaltung",
        "man öffnet die Notiz nach jeder Änderung wieder und zieht sie in der Liste an einen anderen Ort weil das "
        "Fenster behält was vorher geschrieben wurde bevor der Abgleich auf einem neuen Gerät beginnt",
    ),
    "fr": (
        "graphe canevas lien coffre modèle signet plan propriété raccourci espace",
        "affichage réglages panneau recherche importation historique partage thème",
        "on ouvre la note après chaque changement dans la liste puis on la déplace ailleurs parce que la fenêtre "
        "garde ce qui était écrit avant que la synchronisation commence sur un nouvel appareil",
    ),
    "es": (
        "gráfico lienzo enlace bóveda plantilla marcador esquema propiedad atajo espacio",
        "vista ajustes panel búsqueda importación historial compartición diseño",
        "se abre la nota después de cada cambio en la lista y luego se mueve a otro lugar porque la ventana guarda "
        "lo que estaba escrito antes de que la sincronización empiece en un dispositivo nuevo",
    ),
    "ru": (
        "граф холст ссылка хранилище шаблон закладка структура свойство клавиша пространство",
        "вид настройки панель поиск импорт история доступ оформление",
        "можно открыть заметку снова после каждого изменения в списке и затем перенести её в другое место потому "
        "что окно хранит то что было написано раньше чем начнётся обмен на новом устройстве",
    ),
    "ar": (
        "رسم لوحة رابط خزنة قالب إشارة مخطط خاصية اختصار مساحة",
        "عرض إعدادات جانب بحث استيراد سجل مشاركة مظهر",
        "يمكنك فتح الملاحظة مرة أخرى بعد كل تغيير في القائمة ثم سحبها إلى مكان آخر لأن النافذة تحفظ ما كتب قبل أن "
        "تبدأ المزامنة على جهاز جديد",
    ),
    "zh": (
        "图谱 白板 链接 仓库 模板 书签 大纲 属性 快捷键 工作区",
        "视图 设置 面板 搜索 导入 历史 分享 主题",
        "你可以 在 每次 修改 之后 重新 打开 笔记 然后 把 它 拖到 列表 中 的 其他 位置 "
        "因为 窗口 会 保留 以前 写过 的 内容",
    ),
    "ja": (
        "グラフ キャンバス リンク 保管庫 テンプレート ブックマーク アウトライン プロパティ ホットキー 作業場",
        "ビュー 設定 パネル 検索 読み込み 履歴 共有 テーマ",
        "ノート を 変更 する たびに もう一度 開いて 一覧 の 中 で 別の 場所 に 動かせます "
        "ウィンドウ は 前に 書いた 内容 を 保ちます",
    ),
}
"""The first words of topics, the second words, and the words of sentences."""
UNSPACED: Final = frozenset(("zh", "ja"))
SUB_HEADINGS: Final = ("Shiny new things", "Improvements", "No longer broken", "Developers", "How it works", "Options")
