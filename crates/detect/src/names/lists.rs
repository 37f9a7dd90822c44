//! The lists: given names that are hardly anything else, Chinese surnames, and words that look like
//! names. Common facts of language; short on purpose.

/// Cues of western texts; lower-case ones are keys.
pub(crate) const WESTERN_CUES: &[&str] = &[
    "Mr.", "Mrs.", "Ms. ", "Dr. ", "Prof.", "Herr ", "Frau ", "Monsieur", "Madame", "Señor", "Dear", "name:", "name\":", "name =",
    "name\\\":", "full_name", "fullName", "customer:", "patient:", "contact:", "signed by", "author:", "recipient",
];

/// Cues of Chinese texts, before the name.
pub(crate) const ZH_CUES: &[&str] =
    &["联系人", "姓名", "收件人", "收货人", "客户", "患者", "我叫", "名叫", "负责人", "申请人", "法人", "经办人", "查询用户"];

/// Titles behind a Chinese name.
pub(crate) const ZH_TITLES: &[&str] = &["先生", "女士", "小姐", "同学", "老师", "经理", "医生", "教授"];

/// Words behind a Chinese name and a comma.
pub(crate) const ZH_RIGHTS: &[&str] = &["手机", "电话", "身份证", "邮箱", "住址"];

/// Single-character surnames.
pub(super) const SURNAMES_ZH: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤康易乔赖文";

/// Two-character surnames.
pub(super) const SURNAMES_ZH_TWO: &[&str] = &["欧阳", "司马", "上官", "诸葛", "东方", "皇甫", "尉迟", "公孙", "慕容", "令狐", "司徒", "夏侯"];

/// Words that begin with a surname's character.
pub(super) const WORDS_ZH: &[&str] = &[
    "高级", "高中", "高度", "高兴", "金额", "金融", "白色", "马上", "方便", "方法", "方式", "周末", "周一", "周二", "周三", "周四",
    "周五", "许多", "常见", "常用", "安全", "时间", "任何", "任务", "万元", "钱包", "石油", "江苏", "云南", "温度", "包括", "应该",
    "于是", "项目", "向上", "易于", "文件", "文本", "文字", "程序", "成功", "毛病", "陆续", "严重", "严格", "金牌", "高端", "王者",
    "张贴", "黄金", "黄色", "何时", "何人", "林业", "唐代", "宋代", "夏天", "江南", "万一", "武汉", "武器", "龙头", "史料", "顾客",
    "康复", "叶子", "余额", "余下", "段落", "方向", "方案", "石家", "江西", "陈述", "曾经", "程度", "范围", "田地", "谢谢", "钟头",
];

/// Capitalised words that are no part of a name.
pub(super) const NOT_NAMES: &[&str] = &[
    "Sir", "Madam", "Team", "All", "Customer", "Customers", "User", "Users", "Support", "Street", "Road", "Avenue", "City", "State",
    "University", "College", "School", "Inc", "Ltd", "Company", "Studio", "Hotel", "Airport", "Church", "Hospital", "Bank", "Park",
    "Lake", "River", "The", "This", "That", "These", "What", "When", "Where", "Who", "How", "Why", "Is", "It", "In", "On", "At",
    "And", "Or", "But", "For", "To", "From", "With", "If", "As", "He", "She", "They", "We", "You", "I", "Please", "Thanks", "Thank",
    "Hello", "Hi", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March",
    "April", "June", "July", "August", "September", "October", "November", "December", "Service", "Server", "Client", "Error",
    "None", "Null", "True", "False", "String", "Type", "Name", "Test", "Build", "Deploy", "Check", "Run", "Get", "Set", "Add",
    "Remove", "Update", "Create", "Delete", "Code", "Data", "File", "Project", "Hiring", "Manager", "Friend", "Friends", "World",
    "Developer", "Reader", "Colleague", "Colleagues", "Admin", "Default", "Unknown", "Example", "Docker", "Release", "Install",
];

/// Given names that are hardly ever another word.
pub(crate) const GIVEN: &[&str] = &[
    "James", "Robert", "John", "Michael", "David", "William", "Richard", "Joseph", "Thomas", "Christopher", "Charles", "Daniel",
    "Matthew", "Anthony", "Donald", "Steven", "Andrew", "Kenneth", "Joshua", "Kevin", "Brian", "George", "Timothy", "Ronald",
    "Jason", "Edward", "Jeffrey", "Ryan", "Jacob", "Nicholas", "Gary", "Jonathan", "Stephen", "Larry", "Justin", "Scott",
    "Brandon", "Benjamin", "Samuel", "Gregory", "Alexander", "Patrick", "Raymond", "Jack", "Dennis", "Jerry", "Tyler", "Aaron",
    "Henry", "Douglas", "Peter", "Nathan", "Zachary", "Walter", "Kyle", "Harold", "Carl", "Jeremy", "Gerald", "Keith", "Roger",
    "Arthur", "Terry", "Lawrence", "Sean", "Christian", "Albert", "Ethan", "Austin", "Noah", "Oliver", "Liam", "Lucas",
    "Mary", "Patricia", "Jennifer", "Linda", "Elizabeth", "Barbara", "Susan", "Jessica", "Sarah", "Karen", "Lisa", "Nancy",
    "Betty", "Sandra", "Margaret", "Ashley", "Kimberly", "Emily", "Donna", "Michelle", "Carol", "Amanda", "Melissa", "Deborah",
    "Stephanie", "Rebecca", "Sharon", "Laura", "Cynthia", "Dorothy", "Kathleen", "Angela", "Shirley", "Emma", "Brenda", "Pamela",
    "Nicole", "Anna", "Samantha", "Katherine", "Christine", "Debra", "Rachel", "Carolyn", "Janet", "Maria", "Olivia", "Heather",
    "Helen", "Catherine", "Diane", "Julie", "Victoria", "Joyce", "Lauren", "Kelly", "Christina", "Joan", "Evelyn", "Judith",
    "Andrea", "Hannah", "Megan", "Cheryl", "Jacqueline", "Martha", "Madison", "Teresa", "Gloria", "Sophia", "Isabella", "Charlotte",
    "Hans", "Klaus", "Jürgen", "Stefan", "Wolfgang", "Matthias", "Ursula", "Sabine", "Pierre", "Jean", "François", "Jacques",
    "Camille", "Chloé", "Giovanni", "Giuseppe", "Francesco", "Alessandro", "Giulia", "Chiara", "Carlos", "José", "Miguel", "Javier",
    "Alejandro", "Fernando", "Carmen", "Lucía", "Sofía", "João", "Pedro", "Beatriz", "Ivan", "Dmitri", "Olga", "Natasha", "Anastasia",
    "Mohammed", "Ahmed", "Fatima", "Aisha", "Yusuf", "Priya", "Rahul", "Amit", "Anjali", "Sanjay", "Hiroshi", "Yuki", "Kenji",
    "Sakura", "Takeshi", "Wei", "Xiaoming", "Jiahui", "Minjun", "Jihoon", "Lars", "Björn", "Ingrid", "Astrid", "Piotr", "Agnieszka",
];
