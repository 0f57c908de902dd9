/**
 * Every code of the gateway's answers with its status and its text in English and Turkish. Clients
 * use the code; the texts are for people and may change. Codes never change meaning. The table of
 * docs/api.md is made from this one.
 */
import { nameFields } from "../../base/name-fields.ts";
import type { Language } from "./language.ts";

type Row = readonly [status: number, en: string, tr: string];

const rows = {
  withdrawal_requested: [200, "The withdrawal request was sent.", "Çekim isteği gönderildi."],
  withdrawal_awaits_approval: [
    200,
    "The withdrawal request was sent and awaits approval.",
    "Çekim isteği gönderildi, onay bekliyor.",
  ],
  withdrawal_cancelled: [
    200,
    "The withdrawal is cancelled: nothing is paid.",
    "Çekim iptal edildi: hiçbir ödeme yapılmaz.",
  ],
  cancel_requested: [
    200,
    "The server that pays is asked to refuse the withdrawal, and may still pay it.",
    "Ödeme yapan sunucudan çekimi reddetmesi istendi; çekim yine de ödenebilir.",
  ],
  json_invalid: [
    400,
    "The body is not a valid JSON object.",
    "İstek gövdesi geçerli bir JSON nesnesi değil.",
  ],
  field_missing: [400, "A required field is missing.", "Zorunlu bir alan eksik."],
  field_unknown: [
    400,
    "The body holds a field that this operation does not know.",
    "İstek gövdesinde bilinmeyen bir alan var.",
  ],
  currency_unknown: [400, "There is no such currency.", "Böyle bir para birimi yok."],
  currency_disabled: [400, "This currency is switched off.", "Bu para birimi şu anda kapalı."],
  currency_not_payable: [
    400,
    "The agent does not pay out this currency.",
    "Ödemeleri yapan sunucu bu para birimiyle ödeme yapmıyor.",
  ],
  amount_format: [
    400,
    "The amount must be a decimal number above zero, written as a string.",
    "Tutar, metin olarak yazılmış sıfırdan büyük bir ondalık sayı olmalıdır.",
  ],
  amount_precision: [
    400,
    "The amount has more decimal places than the currency.",
    "Tutar, para biriminin izin verdiğinden fazla ondalık basamak içeriyor.",
  ],
  amount_below_minimum: [
    400,
    "The amount is below the minimum.",
    "Tutar en düşük sınırın altında.",
  ],
  amount_twice: [
    400,
    "Give either amount, or fiatCurrency with fiatAmount.",
    "Ya amount ya da fiatCurrency ile fiatAmount verin.",
  ],
  fiat_currency_unknown: [
    400,
    "fiatCurrency must be USD, EUR or TRY.",
    "fiatCurrency USD, EUR veya TRY olmalıdır.",
  ],
  currency_unpriced: [
    400,
    "This currency has no price in that money; ask with amount.",
    "Bu para biriminin o para cinsinden fiyatı yok; amount ile isteyin.",
  ],
  address_invalid: [
    400,
    "The address is not valid for this currency, or its checksum does not fit.",
    "Adres bu para birimi için geçersiz ya da sağlama toplamı uyuşmuyor.",
  ],
  address_own: [
    400,
    "The address is one of the paying wallet's own: the money would only go round in circles.",
    "Adres, ödemeyi yapan cüzdanın kendi adreslerinden biri: para yalnızca kendi içinde dolaşır.",
  ],
  address_contract: [
    400,
    "The address is a token's own contract: what is sent there is lost.",
    "Adres, bir token'ın kendi sözleşmesi: oraya gönderilen para kaybolur.",
  ],
  lifetime_invalid: [
    400,
    "expiresInMinutes must be a whole number from 5 to 10080.",
    "expiresInMinutes 5 ile 10080 arasında bir tam sayı olmalıdır.",
  ],
  tolerance_invalid: [
    400,
    "tolerancePercent must be a decimal number from 0 to 10 with at most two decimals, written as a string.",
    "tolerancePercent, metin olarak yazılmış, en çok iki basamaklı, 0 ile 10 arasında bir ondalık sayı olmalıdır.",
  ],
  currencies_invalid: [
    400,
    "currencies must be a list of 1 to 20 currencies that the merchant can receive, each once.",
    "currencies, işletmenin alabildiği 1-20 para biriminin, her biri bir kez olmak üzere, listesi olmalıdır.",
  ],
  quote_minutes_invalid: [
    400,
    "quoteMinutes must be a whole number from 10 to 120.",
    "quoteMinutes 10 ile 120 arasında bir tam sayı olmalıdır.",
  ],
  refund_invalid: [
    400,
    "refundOf must name one of the merchant's own deposits in the same currency.",
    "refundOf, işletmenin aynı para birimindeki kendi ödemelerinden birini göstermelidir.",
  ],
  refund_above_received: [
    400,
    "The deposit did not receive so much that is not paid back yet.",
    "Bu ödemede geri ödenmemiş bu kadar tutar yok.",
  ],
  tag_not_supported: [400, "This currency takes no tag.", "Bu para birimi etiket kabul etmiyor."],
  tag_invalid: [
    400,
    "This is no tag of the currency's network, or the address holds another one.",
    "Bu, para biriminin ağında geçerli bir etiket değil ya da adres başka bir etiket içeriyor.",
  ],
  order_id_invalid: [
    400,
    "orderId must have 1 to 128 visible ASCII characters without spaces.",
    "orderId, boşluksuz 1-128 görünür ASCII karakterden oluşmalıdır.",
  ],
  balance_insufficient: [
    400,
    "The available balance does not cover the amount and its network fee.",
    "Kullanılabilir bakiye tutarı ve ağ ücretini karşılamıyor.",
  ],
  agent_not_paired: [
    400,
    "No server that pays withdrawals is paired yet.",
    "Çekimleri ödeyen bir sunucu henüz eşleştirilmedi.",
  ],
  deposits_not_ready: [
    400,
    "No wallet takes deposits for this merchant yet: its server must be paired first.",
    "Bu işletme için henüz ödeme alan bir cüzdan yok: önce sunucusu eşleştirilmelidir.",
  ],
  transaction_type_invalid: [
    400,
    "transactionType must be 1 or 2.",
    "transactionType 1 veya 2 olmalıdır.",
  ],
  query_invalid: [
    400,
    "A query parameter is unknown or malformed.",
    "Bir sorgu parametresi bilinmiyor ya da hatalı.",
  ],
  metadata_invalid: [
    400,
    "metadata must be a small object of short texts.",
    "metadata, kısa metinlerden oluşan küçük bir nesne olmalıdır.",
  ],
  return_url_invalid: [
    400,
    "returnUrl must be an address on one of the sites that the service lists for this merchant.",
    "returnUrl, hizmetin bu işletme için kaydettiği sitelerden birinde bir adres olmalıdır.",
  ],
  renew_invalid: [
    400,
    "renew must be the transactionId of an ended request with this orderId.",
    "renew, bu orderId ile yapılmış ve sona ermiş bir isteğin transactionId değeri olmalıdır.",
  ],
  callback_url_invalid: [
    400,
    "No callback target can have this URL.",
    "Bu URL bir geri çağrı hedefi olamaz.",
  ],
  callback_events_invalid: [
    400,
    "events must be a list of known events.",
    "events, bilinen olayların listesi olmalıdır.",
  ],
  accept_invalid: [
    400,
    "reason must be 1 to 500 visible characters in one line, and short true or false.",
    "reason tek satırda 1-500 görünür karakter, short ise true ya da false olmalıdır.",
  ],
  since_invalid: [
    400,
    "since must be a day or a time in UTC, as ISO 8601.",
    "since, ISO 8601 biçiminde UTC bir gün ya da zaman olmalıdır.",
  ],
  orders_count: [
    400,
    "One call takes 1 to 100 orders.",
    "Bir çağrıda 1 ile 100 arası emir gönderilebilir.",
  ],
  request_invalid: [400, "The request is malformed.", "İstek hatalı biçimlendirilmiş."],
  pairing_invalid: [
    400,
    "The pairing request is malformed or contradicts itself.",
    "Eşleştirme isteği hatalı ya da kendisiyle çelişiyor.",
  ],
  pairing_other_gateway: [
    400,
    "The apiKey belongs to another gateway.",
    "apiKey başka bir ağ geçidine ait.",
  ],
  pairing_clock: [
    400,
    "The clocks of server and gateway differ too much.",
    "Sunucu ile ağ geçidinin saatleri çok farklı.",
  ],
  pairing_network_differs: [
    400,
    "A network of the server's config.json is not one of this gateway.",
    "Sunucudaki config.json dosyasının bir ağı bu ağ geçidinde yok.",
  ],
  pairing_currency_differs: [
    400,
    "A currency of the server's config.json differs from the gateway's.",
    "Sunucudaki config.json dosyasının bir para birimi ağ geçidindekinden farklı.",
  ],
  token_invalid: [
    401,
    "The signatureToken is missing or not valid.",
    "signatureToken eksik ya da geçersiz.",
  ],
  pairing_key_invalid: [401, "The apiKey is not valid.", "apiKey geçersiz."],
  pairing_unproven: [
    401,
    "The pairing request is not signed by the key of an account that it names.",
    "Eşleştirme isteği, içinde belirtilen bir hesabın anahtarıyla imzalanmamış.",
  ],
  pairing_unsigned: [
    401,
    "The pairing request is not signed by both keys of the server that it names.",
    "Eşleştirme isteği, içinde belirtilen iki sunucu anahtarıyla da imzalanmamış.",
  ],
  scope_missing: [403, "This key may not do that.", "Bu anahtarın bu işlem için yetkisi yok."],
  key_revoked: [403, "This key was revoked.", "Bu anahtar iptal edilmiş."],
  key_expired: [403, "This key has expired.", "Bu anahtarın süresi dolmuş."],
  merchant_disabled: [403, "This merchant is switched off.", "Bu işletme kapatılmış."],
  address_not_allowed: [
    403,
    "This key may not be used from this address.",
    "Bu anahtar bu adresten kullanılamaz.",
  ],
  plaintext_refused: [403, "Use HTTPS.", "HTTPS kullanın."],
  not_found: [404, "There is nothing at this path.", "Bu adreste bir kaynak yok."],
  invoice_not_found: [404, "The invoice was not found.", "Ödeme talebi bulunamadı."],
  transaction_not_found: [404, "The transaction was not found.", "İşlem bulunamadı."],
  currency_not_found: [404, "The currency was not found.", "Para birimi bulunamadı."],
  callback_not_found: [404, "The callback target was not found.", "Geri çağrı hedefi bulunamadı."],
  upgrade_required: [
    426,
    "This path is the link of agents and takes a WebSocket alone.",
    "Bu adres ajanların bağlantısıdır ve yalnızca WebSocket kabul eder.",
  ],
  method_not_allowed: [
    405,
    "This path does not take this method.",
    "Bu adres bu yöntemi kabul etmiyor.",
  ],
  request_timeout: [408, "The request did not arrive in time.", "İstek zamanında ulaşmadı."],
  order_id_reused: [
    409,
    "This orderId was used with different content.",
    "Bu orderId farklı bir içerikle daha önce kullanılmış.",
  ],
  not_renewable: [
    409,
    "This request cannot be renewed: it is still open, or money came or may have gone.",
    "Bu istek yenilenemez: hâlâ açık, ödeme almış ya da para gönderilmiş olabilir.",
  ],
  callback_exists: [
    409,
    "The merchant has a callback target with this URL already.",
    "İşletmenin bu URL ile bir geri çağrı hedefi zaten var.",
  ],
  callbacks_full: [
    409,
    "The merchant has as many callback targets as it may have.",
    "İşletmenin geri çağrı hedeflerinin sayısı üst sınırda.",
  ],
  callback_off: [
    409,
    "The callback target is paused or switched off: resume it first.",
    "Geri çağrı hedefi duraklatılmış ya da kapatılmış: önce sürdürün.",
  ],
  not_cancellable: [
    409,
    "Only an open withdrawal for which nothing was signed, and an open request for which nothing was paid, can be cancelled.",
    "Yalnızca imzalanmamış, açık bir çekim ya da hiçbir ödeme almamış, açık bir istek iptal edilebilir.",
  ],
  invoice_ended: [
    409,
    "This invoice takes no other currency any more.",
    "Bu ödeme talebi artık başka bir para birimi kabul etmiyor.",
  ],
  not_acceptable: [
    409,
    "This deposit cannot be accepted as paid.",
    "Bu yatırma işlemi ödenmiş olarak kabul edilemez.",
  ],
  pairing_taken: [
    409,
    "Another server is paired; the gateway's operator must release it first.",
    "Başka bir sunucu eşleştirilmiş; önce ağ geçidi yöneticisi onu serbest bırakmalıdır.",
  ],
  pairing_wallet_taken: [
    409,
    "This wallet's hot wallet address or deposit key is, or was, paired for another merchant of this gateway.",
    "Bu cüzdanın ödeme adresi ya da yatırma anahtarı, bu ağ geçidindeki başka bir işletme için eşleştirilmiş.",
  ],
  pairing_replayed: [
    409,
    "A newer pairing request was accepted before this one; pair again.",
    "Bu istekten daha yeni bir eşleştirme isteği kabul edilmiş; yeniden eşleştirin.",
  ],
  pairing_used: [
    409,
    "This key's right to pair is used up.",
    "Bu anahtarın eşleştirme hakkı kullanılmış.",
  ],
  body_too_large: [413, "The body is too large.", "İstek gövdesi çok büyük."],
  content_type: [
    415,
    "Content-Type must be application/json.",
    "Content-Type application/json olmalıdır.",
  ],
  content_encoding: [
    415,
    "Content-Encoding is not supported: send the body as it is.",
    "Content-Encoding desteklenmiyor: gövdeyi olduğu gibi gönderin.",
  ],
  expectation_failed: [
    417,
    "The Expect header asks for something this server does not do.",
    "Expect başlığı bu sunucunun yapmadığı bir şey istiyor.",
  ],
  withdrawal_failed: [
    422,
    "The withdrawal transaction has failed.",
    "Çekim işlemi başarısız oldu.",
  ],
  rate_limited: [429, "Too many requests.", "Çok fazla istek gönderildi."],
  headers_too_large: [431, "The headers are too large.", "İstek başlıkları çok büyük."],
  internal: [500, "Something went wrong on our side.", "Tarafımızda bir hata oluştu."],
  unavailable: [
    503,
    "The service cannot do this right now; nothing was created.",
    "Hizmet şu anda bunu yapamıyor; hiçbir kayıt oluşturulmadı.",
  ],
  clock_wrong: [
    503,
    "The service's clock is wrong, so the token's time cannot be judged; nothing was created. Ask again later.",
    "Hizmetin saati yanlış olduğundan jetonun zamanı değerlendirilemiyor; hiçbir kayıt oluşturulmadı. Daha sonra yeniden deneyin.",
  ],
  agent_clock_ahead: [
    503,
    "The time of the agent's ledger is far ahead, so this order would be over at once; nothing was created. Ask again later.",
    "Ajanın kayıt defterinin saati çok ileride olduğundan bu talimat hemen sona ererdi; hiçbir kayıt oluşturulmadı. Daha sonra yeniden deneyin.",
  ],
  price_stale: [
    503,
    "There is no fresh price of this currency right now; nothing was created.",
    "Bu para biriminin şu anda güncel bir fiyatı yok; hiçbir kayıt oluşturulmadı.",
  ],
} as const satisfies Record<string, Row>;

export type AnswerCode = keyof typeof rows;

/** The rows of the table, with their fields by name. */
export const answerCodes = nameFields(["status", "en", "tr"], rows);

/** The text of a code. */
export function messageOf(code: AnswerCode, language: Language): string {
  return answerCodes[code][language];
}
