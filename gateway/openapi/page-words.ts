/**
 * The words of the page at /docs that are not the document's own, in English and Turkish. A path
 * for the operator has its Turkish name here; an operation brings its own.
 */
import type { Language } from "../answer/language.ts";
import { operations } from "../operations/operations.ts";

export interface PageWords {
  readonly title: string;
  readonly other: readonly [language: Language, name: string];
  readonly skip: string;
  readonly contents: string;
  readonly intro: string;
  readonly about: string; // "" for the document's own words
  readonly programs: string; // a link follows
  readonly referenceNote: string; // "" where reference and page have one language
  readonly chapters: Readonly<
    Record<"token" | "stages" | "verify" | "csv" | "errors" | "headers" | "bodies", string>
  >;
  readonly groups: Readonly<Record<string, string>>; // by the document's tags
  readonly token: readonly string[];
  readonly tokenTry: string;
  readonly stages: string;
  readonly flows: Readonly<
    Record<"deposit" | "withdrawal", readonly [name: string, drawing: string]>
  >;
  readonly verify: readonly string[];
  readonly verifyTry: (secret: string) => string;
  readonly csv: string;
  readonly errors: string;
  readonly stageHeads: readonly string[];
  readonly fieldHeads: readonly string[];
  readonly parameterHeads: readonly string[];
  readonly answerHeads: readonly string[];
  readonly headerHeads: readonly string[];
  readonly labels: Readonly<
    Record<
      | "parameters"
      | "body"
      | "answers"
      | "example"
      | "optional"
      | "scope"
      | "noToken"
      | "command"
      | "when"
      | "forExample"
      | "oneOf",
      string
    >
  >;
  readonly operations: Readonly<Record<string, string>>;
}

/** The names of the operations, by their ids, and these of other paths. */
const namesIn = (
  language: Language,
  others: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(operations.map(({ id, name }) => [id, name[language]])),
  ...others,
});

const en: PageWords = {
  title: "Crypto wallet payment service",
  other: ["tr", "Türkçe"],
  skip: "To the content",
  contents: "Contents",
  intro:
    "For the developer of a shop's server: how to order deposits and withdrawals, and how to take callbacks.",
  about: "",
  programs: "The same for programs:",
  referenceNote: "",
  chapters: {
    token: "Make a token",
    stages: "Stages",
    verify: "Verify a callback",
    csv: "CSV",
    errors: "Errors",
    headers: "Headers of answers",
    bodies: "Bodies",
  },
  groups: {
    Orders: "Orders",
    Reading: "Reading",
    Callbacks: "Callbacks",
    Station: "State of the gateway",
  },
  token: [
    "Each request carries `signatureToken`: a JWT that your server makes from the shop's key, a new one for each " +
      "request. The key is `<keyId>.<secret>.<fingerprint>`.",
    "Header: `alg` is `HS256`, `typ` is `JWT`, `kid` is the keyId. No other field.",
    "Claims: `sub` is the keyId; `iat` and `exp` are whole seconds since 1970, `exp` at most 300 after `iat`; `jti` is " +
      "random, 16 to 128 visible characters.",
    "A strict key also needs `bodyHash` (hex SHA-256 of the raw body, of the empty string for a GET), `method` and " +
      "`path` (from `/api` on, with the query).",
    "Signature: HMAC-SHA256 over `base64url(header).base64url(claims)`. The HMAC key is the secret as text, not its " +
      "decoded bytes.",
  ],
  tokenTry:
    "In a shell, with the shop's key in `SHOP_KEY`. The curl lines below use this function:",
  stages:
    "`status` says whether a record is Pending (0), Completed (1) or Failed (2). `stage` is the step within it. Ship " +
    "when `status` is 1. An expired deposit can still become completed: its money arrived late, and the operator " +
    "credits it.",
  flows: {
    deposit: [
      "Deposit",
      "Stages of a deposit: waiting, seen, confirming, completed. From waiting also unconfirmed, and from there seen. From seen also partial. " +
        "From waiting and partial also expired. From waiting also cancelled. From completed, rarely, reorged.",
    ],
    withdrawal: [
      "Withdrawal",
      "Stages of a withdrawal: awaiting_approval, queued, signed, broadcast, confirming, completed. From " +
        "awaiting_approval and queued also refused. From queued also awaiting_operator, and back. From queued and signed " +
        "also expired. From broadcast also stuck. From confirming also failed.",
    ],
  },
  verify: [
    "Compare the signature before you read the body: HMAC-SHA256 over `webhook-id`, a point, `webhook-timestamp`, a " +
      "point and the raw body. The HMAC key is what follows `whsec_`, decoded from base64.",
    "Refuse a timestamp that is more than five minutes away. Of several signatures, one has to fit.",
    "Store the event, then answer 2xx. Events arrive at least once and in any order: keep a record's highest " +
      "`sequence`, and ignore lower ones.",
  ],
  verifyTry: (secret) =>
    `A callback as your server receives it. With the secret \`${secret}\` its signature is right, but its timestamp is old:`,
  csv:
    "With `Accept: text/csv` the list of transactions comes as CSV (RFC 4180, UTF-8, the columns in the first line). " +
    "Import amounts and identifiers as text. A text that a spreadsheet would run as a formula has an apostrophe in front.",
  errors:
    "Branch on `code`, never on `message`: `message` is for people, in the language of `Accept-Language`. After a " +
    "time-out or a 5xx send the same order again with the same `orderId`; it never pays twice.",
  stageHeads: ["stage", "status", "meaning"],
  fieldHeads: ["field", "type", "meaning"],
  parameterHeads: ["name", "where and type", "meaning"],
  answerHeads: ["status", "body", "meaning"],
  headerHeads: ["header", "meaning"],
  labels: {
    parameters: "Parameters",
    body: "Body",
    answers: "Answers",
    example: "Example of an answer",
    optional: "optional",
    scope: "Scope",
    noToken: "No token.",
    command: "Command",
    when: "When",
    forExample: "For example",
    oneOf: "One of",
  },
  operations: {}, // as the document names them
};

const tr: PageWords = {
  title: "Kripto cüzdan ödeme hizmeti",
  other: ["en", "English"],
  skip: "İçeriğe geç",
  contents: "İçindekiler",
  intro:
    "Bir mağazanın sunucusunu yazan geliştirici için: yatırma ve çekim siparişi verme, geri çağrıları (callback) alma.",
  about:
    "Her istek `signatureToken`, her POST ayrıca `Content-Type: application/json` taşır. Tutarlar ondalık metinlerdir. " +
    "Her an yeni alan ve kod eklenebilir: bilmediklerinizi yok sayın.",
  programs: "Programlar için aynısı:",
  referenceNote: "Alan açıklamaları İngilizcedir; adlar ve kodlar her dilde aynıdır.",
  chapters: {
    token: "Token oluşturma",
    stages: "Aşamalar",
    verify: "Geri çağrıyı doğrulama",
    csv: "CSV",
    errors: "Hatalar",
    headers: "Yanıt başlıkları",
    bodies: "Gövdeler",
  },
  groups: {
    Orders: "Siparişler",
    Reading: "Okuma",
    Callbacks: "Geri çağrılar",
    Station: "Hizmetin durumu",
  },
  token: [
    "Her istek `signatureToken` taşır: sunucunuzun, mağazanın anahtarından her istek için yeniden oluşturduğu bir JWT. " +
      "Anahtar `<keyId>.<secret>.<fingerprint>` biçimindedir.",
    "Başlık: `alg` `HS256`, `typ` `JWT`, `kid` keyId olur. Başka alan olmaz.",
    "Claim alanları: `sub` keyId; `iat` ve `exp` 1970'ten bu yana tam saniye, `exp` en çok `iat` + 300; `jti` rastgele, " +
      "16 ile 128 arası görünür karakter.",
    "Strict anahtar ayrıca `bodyHash` (ham gövdenin, GET için boş metnin onaltılık SHA-256 özeti), `method` ve `path` " +
      "(`/api` ile başlayan kısım, sorgusuyla) ister.",
    "İmza: `base64url(header).base64url(claims)` üzerinde HMAC-SHA256. HMAC anahtarı, secret metninin kendisidir; " +
      "çözülmüş baytları değildir.",
  ],
  tokenTry:
    "Kabukta, mağazanın anahtarı `SHOP_KEY` içindeyken. Aşağıdaki curl satırları bu işlevi kullanır:",
  stages:
    "`status` kaydın beklediğini (0), tamamlandığını (1) ya da başarısız olduğunu (2) söyler. `stage` bunun içindeki " +
    "adımdır. Malı `status` 1 olunca gönderin. Süresi dolan bir yatırma yine tamamlanabilir: parası geç gelmiştir ve " +
    "yetkili onu sayar.",
  flows: {
    deposit: [
      "Yatırma",
      "Bir yatırmanın aşamaları: waiting, seen, confirming, completed. waiting aşamasından unconfirmed da olur, ondan sonra seen gelir. seen aşamasından partial da olur. waiting ve " +
        "partial aşamalarından expired da olur. waiting aşamasından cancelled da olur. completed aşamasından, nadiren, reorged da olur.",
    ],
    withdrawal: [
      "Çekim",
      "Bir çekimin aşamaları: awaiting_approval, queued, signed, broadcast, confirming, completed. awaiting_approval ve " +
        "queued aşamalarından refused da olur. queued aşamasından awaiting_operator da olur ve geri döner. queued ve signed aşamalarından expired da olur. broadcast aşamasından " +
        "stuck da olur. confirming aşamasından failed da olur.",
    ],
  },
  verify: [
    "Gövdeyi okumadan önce imzayı karşılaştırın: `webhook-id`, nokta, `webhook-timestamp`, nokta ve ham gövde üzerinde " +
      "HMAC-SHA256. HMAC anahtarı, `whsec_` sonrasının base64 ile çözülmüş hâlidir.",
    "Beş dakikadan fazla sapan bir zamanı reddedin. Birden çok imza varsa birinin uyması yeter.",
    "Olayı kaydedin, sonra 2xx ile yanıtlayın. Olaylar en az bir kez ve herhangi bir sırayla gelir: bir kaydın en " +
      "yüksek `sequence` değerini saklayın, daha düşük olanları yok sayın.",
  ],
  verifyTry: (secret) =>
    `Sunucunuza gelen bir geri çağrı. \`${secret}\` ile imzası doğrudur, ancak zamanı eskidir:`,
  csv:
    "`Accept: text/csv` ile işlem listesi CSV olarak gelir (RFC 4180, UTF-8, ilk satırda sütunlar). Tutarları ve " +
    "kimlikleri metin olarak içe aktarın. Hesap tablosunun formül sayacağı metnin önünde kesme işareti olur.",
  errors:
    "Kararı `code` alanına göre verin, `message` alanına göre asla: `message` insanlar içindir, `Accept-Language` " +
    "dilindedir. Zaman aşımından ya da 5xx yanıtından sonra aynı siparişi aynı `orderId` ile yeniden gönderin; asla iki " +
    "kez ödemez.",
  stageHeads: ["aşama", "status", "anlamı"],
  fieldHeads: ["alan", "tür", "anlamı"],
  parameterHeads: ["ad", "yer ve tür", "anlamı"],
  answerHeads: ["durum", "gövde", "anlamı"],
  headerHeads: ["başlık", "anlamı"],
  labels: {
    parameters: "Parametreler",
    body: "Gövde",
    answers: "Yanıtlar",
    example: "Örnek yanıt",
    optional: "isteğe bağlı",
    scope: "Yetki",
    noToken: "Token gerekmez.",
    command: "Komut",
    when: "Ne zaman",
    forExample: "Örneğin",
    oneOf: "Şunlardan biri",
  },
  operations: namesIn("tr", { health: "Çalışıyor", ready: "Hazır" }),
};

export const pageWords: Readonly<Record<Language, PageWords>> = { en, tr };
