/**
 * The first guesses of every attacker, for guesses.ts: words from the top of leaked password lists,
 * rows of keys, look-alikes. Pure.
 */

const words = `
password passwort parola sifre secret secure security private letmein welcome iloveyou monkey dragon master shadow sunshine princess
football baseball basketball soccer hockey superman batman spiderman pokemon starwars trustno1 whatever freedom killer hunter ranger
buster thomas robert daniel michael jordan michelle jessica jennifer ashley nicole andrew joshua matthew charlie george anthony william
richard justin austin taylor hannah amanda melissa samantha andrea martin alexander david james johnson smith mohammed mehmet ahmet
mustafa ayse fatma emine hatice zeynep elif murat kemal ataturk istanbul ankara izmir antalya turkey turkiye galatasaray fenerbahce
besiktas trabzon london paris berlin newyork america germany england france russia moscow china tokyo madrid barcelona chelsea arsenal
liverpool manchester juventus real summer winter spring autumn january february march april june july august september october november
december monday tuesday wednesday thursday friday saturday sunday ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim
aralik admin administrator root system server gateway merchant wallet bitcoin ethereum crypto coin money payment withdraw shop store
company office business computer internet google facebook windows linux ubuntu debian oracle cisco test testing tester demo example
sample changeme default temp guest user login access passphrase passwd qwerty asdfgh zxcvbn qazwsx abc123 hello world goodbye forever
always never love lovely heart angel devil flower star moon earth water fire stone ocean river mountain forest garden house home family
mother father sister brother baby girl boy friend king queen prince knight warrior wizard magic ninja pirate samurai tiger lion eagle
wolf bear horse panda turtle dolphin chicken banana apple orange lemon cherry chocolate cookie coffee pepper ginger cheese butter
purple yellow green black white silver golden diamond crystal metal guitar music piano rock thunder lightning phoenix matrix hammer
corvette ferrari porsche mercedes yamaha harley mustang racing winner champion player gamer gaming soldier marine captain maverick
cowboy cowboys yankees lakers steelers eagles bulldog tigger snoopy mickey donald bailey maggie buddy lucky happy smile peace hope
faith jesus christ church allah heaven correct battery staple trouble troubador zebra violet rainbow butterfly blessed please open sesame
incorrect nothing something anything everything one two three four five six seven eight nine zero first second last number pass key enckey
encryption word code pin life time year day night good best great super power energy light dark blue red new old big small strong
`;

const bytesOf = (text: string): Buffer => Buffer.from(text);

/** In small letters. */
export const commonWords: readonly Uint8Array[] = words
  .trim()
  .split(/\s+/)
  .filter((word) => word.length >= 3)
  .map(bytesOf);

const rows = [
  "1234567890",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "qwertzuiop",
  "azertyuiop",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
  "!@#$%^&*()",
];

/** Forwards and backwards. */
export const keyRows: readonly Buffer[] = rows
  .flatMap((row) => [row, [...row].reverse().join("")])
  .map(bytesOf);

/** By byte, the letters that people replace with it. */
export const lookAlikes: ReadonlyMap<number, Uint8Array> = new Map(
  Object.entries({
    "@": "a",
    "4": "a",
    "8": "b",
    "(": "c",
    "3": "e",
    "6": "g",
    "9": "g",
    "1": "il",
    "!": "il",
    "|": "il",
    "0": "o",
    $: "s",
    "5": "s",
    "7": "t",
    "+": "t",
    "2": "z",
  }).map(([sign, letters]) => [sign.charCodeAt(0), bytesOf(letters)]),
);

/** The most common letter pairs of English and Turkish, as first · 256 + second. */
const pairs =
  "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld ur ro ri io ic ne me " +
  "li co ch ll be ma tr ta la us ot ec ce wi ho om el ca ss ee no pe ns ut da di mi un ac il ir ya ay ki ak ek bi im lu ka ba am iy ad na mu " +
  "ol po pl ap rs rt ry pr up ge em ie gh ow wa so ke sh mo ab ag os";

export const commonPairs: ReadonlySet<number> = new Set(
  pairs.split(" ").map((pair) => pair.charCodeAt(0) * 256 + pair.charCodeAt(1)),
);
