/**
 * Every text of the payment page in English and Turkish, in one table. Each state has a title, a
 * sentence about the money, and what the customer does now.
 */
import type { Language } from "../answer/language.ts";
import type { ChoosingState, PayerState } from "./state.ts";

/** The words and numbers that the sentences name; amounts carry their symbol. */
export interface SentenceFigures {
  readonly shop: string;
  readonly symbol: string;
  readonly network: string;
  readonly amount: string; // asked for
  readonly sum: string; // has come, final or not
  readonly arriving: string; // in the network and in no block
  readonly isHeld: boolean;
  readonly missing: string;
  readonly over: string;
  readonly others: string; // other coins; "" none
  readonly end: string; // a time with its zone
  readonly confirmations: number | null;
  readonly confirmationsNeeded: number | null;
  readonly finalMinutes: number | null;
  readonly isSlow: boolean; // confirmation takes longer now
  readonly isRevoked: boolean; // the block with the payment left the chain
  readonly isOpen: boolean;
  readonly hasMoney: boolean; // `sum` is above zero
  readonly isPaying: boolean; // another choice of the invoice is on its way
  readonly canRenew: boolean; // a new price can be had
}

type Sentence = (figures: SentenceFigures) => string;

interface StateWords {
  readonly title: Sentence;
  readonly text: Sentence; // "" where amount and address say it all
  readonly now: Sentence;
}

export interface PayerPageWords {
  readonly pageTitle: Sentence;
  readonly pay: Sentence;
  readonly otherLanguage: string;
  readonly network: string;
  readonly networkOnly: Sentence;
  readonly testNetwork: string;
  readonly amount: string;
  readonly amountLeft: string;
  readonly price: (fiat: string, price: string, symbol: string) => string;
  readonly address: string;
  readonly copyAmount: string;
  readonly copyAddress: string;
  readonly tag: string;
  readonly tagNeeded: string;
  readonly copyTag: string;
  readonly copied: string;
  readonly qrFaces: string;
  readonly faceAddress: string;
  readonly faceLink: string;
  readonly qrAddress: string;
  readonly qrLink: string;
  readonly linkHint: (withTag: boolean) => string;
  readonly openWallet: string;
  readonly minutesLeft: string; // {} is the number
  readonly lastMinute: string;
  readonly payBy: string;
  readonly order: string;
  readonly writeTo: (shop: string) => string;
  readonly nameOrder: string; // the order follows
  readonly noContact: (shop: string) => string;
  readonly back: (shop: string) => string;
  readonly receipt: string;
  readonly paid: string;
  readonly asked: string;
  readonly payment: string;
  readonly when: readonly [final: string, other: string];
  readonly onItsWay: string;
  readonly alsoCame: Sentence; // another coin beside the right one
  readonly transaction: string;
  readonly olderTransactions: (count: number) => string;
  readonly inExplorer: string;
  readonly reloads: string;
  readonly connectionLost: string;
  readonly notFound: readonly [title: string, text: string];
  readonly tooMany: readonly [title: string, text: string];
  readonly unreadable: readonly [title: string, text: string];
  readonly busy: readonly [title: string, text: string];
  readonly newPrice: (amount: string) => string;
  readonly otherCurrency: string;
  readonly choosing: ChoosingWords;
  readonly states: Readonly<Record<PayerState, StateWords>>;
}

/** The words of the page where a payer chooses. */
interface ChoosingWords {
  readonly title: (shop: string, sum: string) => string;
  readonly hold: (minutes: number) => string;
  readonly chooseBy: string;
  readonly list: string; // the name of the list
  readonly tried: (symbol: string) => string;
  readonly reasons: Readonly<
    Record<"outOfService" | "noPrice" | "belowMinimum", (minimum: string) => string>
  >;
  readonly continues: string;
  readonly states: Readonly<Record<ChoosingState, readonly [title: string, now: string]>>;
}

const en: PayerPageWords = {
  pageTitle: ({ shop, amount, network }) => `Pay ${shop}: ${amount} on ${network}`,
  pay: ({ shop }) => `Pay ${shop}`,
  otherLanguage: "Türkçe",
  network: "Network",
  networkOnly: ({ symbol, network }) =>
    `Send only ${symbol}, and only on ${network}. Anything else may be lost.`,
  testNetwork: "Test network: its coins are worth nothing.",
  amount: "Amount",
  amountLeft: "Still to send",
  price: (fiat, price, symbol) => `${fiat}, at ${price} for 1 ${symbol}`,
  address: "Address",
  copyAmount: "Copy amount",
  copyAddress: "Copy address",
  tag: "Destination tag",
  tagNeeded:
    "Enter this tag too. The address is shared, and the tag says that the payment is yours.",
  copyTag: "Copy tag",
  copied: "Copied",
  qrFaces: "QR code",
  faceAddress: "Address",
  faceLink: "Wallet link",
  qrAddress: "QR code of the address",
  qrLink: "QR code of the wallet link",
  linkHint: (withTag) =>
    withTag
      ? "The link holds amount, address and tag. Compare all three in your wallet before you send."
      : "The link holds amount and address. Compare both in your wallet before you send.",
  openWallet: "Open in a wallet",
  minutesLeft: "{} min left",
  lastMinute: "less than a minute left",
  payBy: "Pay by",
  order: "Order",
  writeTo: (shop) => `Write to ${shop}:`,
  nameOrder: "Name your order:",
  noContact: (shop) => `Write to ${shop} in the way you know it.`,
  back: (shop) => `Back to ${shop}`,
  receipt: "Receipt",
  paid: "Paid",
  asked: "Asked for",
  payment: "Your payment",
  when: ["Final since", "Last change"],
  onItsWay: "On its way",
  alsoCame: ({ others }) => `${others} came as well. To have it back, write to the shop.`,
  transaction: "Transaction",
  olderTransactions: (count) => `and ${count} older`,
  inExplorer: "Look at it in a public explorer",
  reloads: "Without script this page reloads every 15 seconds.",
  connectionLost: "No connection. The page tries again by itself.",
  notFound: [
    "There is no such payment",
    "Check the address, or go back to the shop and open the payment again.",
  ],
  tooMany: [
    "Too many requests",
    "Wait a minute, then reload this page. A payment that you sent is not lost.",
  ],
  unreadable: [
    "This payment cannot be shown now",
    "Do not pay now. A payment that you sent is not lost: ask the shop.",
  ],
  busy: ["This is not possible right now", "Go back, and try again in a minute."],
  newPrice: (amount) => `Continue with ${amount}`,
  otherCurrency: "Pay with another currency",
  choosing: {
    title: (shop, sum) => `Pay ${shop}: ${sum}`,
    hold: (minutes) => `Choose a currency: its price then holds for ${minutes} min.`,
    chooseBy: "Choose by",
    list: "Currencies",
    tried: (symbol) =>
      `${symbol} could not be taken just now. Try again in a minute, or choose another one.`,
    reasons: {
      outOfService: () => "out of service",
      noPrice: () => "no price right now",
      belowMinimum: (minimum) => `at least ${minimum}`,
    },
    continues: "chosen: continue",
    states: {
      choose: ["How do you want to pay?", ""],
      noChoice: [
        "No currency can be taken right now",
        "Try again in some minutes, or write to the shop.",
      ],
      ending: [
        "The time to pay is over",
        "If you have paid, wait: this page shows it. Do not send now.",
      ],
      expired: [
        "The time to pay is over",
        "Do not send anything any more. Order again in the shop.",
      ],
      cancelled: [
        "The shop cancelled this payment",
        "Do not send anything. If you have sent already, write to the shop.",
      ],
    },
  },
  states: {
    waiting: {
      title: () => "Waiting for your payment",
      text: () => "",
      now: () => "This page shows the payment by itself as soon as it is seen.",
    },
    unconfirmed: {
      title: () => "Your payment is on its way",
      text: ({ arriving, isHeld, isOpen, end }) =>
        `${arriving} is in the network, and in no block yet.${isOpen && !isHeld ? ` It counts if a block takes it before ${end}.` : ""}`,
      now: ({ isHeld, isOpen }) => {
        if (isHeld) return "It counts, even if it takes longer than the time. Do not send again.";
        return isOpen
          ? "Wait. Do not send again."
          : "It may be too late. Do not send again: wait, or write to the shop.";
      },
    },
    seen: {
      title: () => "Payment seen",
      text: (figures) => `${figures.sum} arrived. ${seenEn(figures)}`,
      now: () => "You have done your part. You may close this page.",
    },
    short: {
      title: ({ missing }) => `${missing} missing`,
      text: ({ sum, amount }) => `${sum} of ${amount} arrived.`,
      now: ({ missing }) => `Send the missing ${missing} to the same address.`,
    },
    over: {
      title: () => "Paid, and more than asked for",
      text: ({ sum, over }) => `${sum} arrived, ${over} more than asked for.`,
      now: ({ over }) => `Your order is paid. To have the ${over} back, write to the shop.`,
    },
    completed: {
      title: () => "Paid",
      text: ({ sum }) => `${sum} arrived, and the payment is final.`,
      now: () => "You may go back to the shop, or close this page.",
    },
    ending: {
      title: () => "The time to pay is over",
      text: ({ end }) => `The network's last blocks before ${end} are being read.`,
      now: () => "If you have paid, wait. Do not send now.",
    },
    expired: {
      title: ({ isRevoked }) =>
        isRevoked ? "The network took the payment back" : "The time to pay is over",
      text: ({ end, isRevoked }) =>
        isRevoked
          ? "The block with the payment is not a part of the network any more."
          : `No payment was seen by ${end}.`,
      now: ({ isRevoked }) =>
        isRevoked
          ? "Do not send anything to this address. Write to the shop: the payment may still come again."
          : "Do not send anything to this address any more. Order again in the shop.",
    },
    expiredWithMoney: {
      title: () => "Too little arrived in time",
      text: ({ sum, amount, end }) => `${sum} of ${amount} arrived by ${end}.`,
      now: () => "Do not send more. Write to the shop: it has your money, and decides with you.",
    },
    late: {
      title: () => "The payment arrived too late",
      text: ({ sum, end }) => `${sum} arrived, all or part of it after the end at ${end}.`,
      now: () => "Do not send more. Write to the shop: it has your money, and decides with you.",
    },
    otherCoin: {
      title: () => "Another coin arrived",
      text: ({ others, symbol }) => `${others} arrived, but this order is paid in ${symbol}.`,
      now: ({ isOpen, amount }) =>
        isOpen
          ? `The order is still open: send ${amount}. About the other coin write to the shop.`
          : "Do not send more. Write to the shop about the coin that arrived.",
    },
    outOfService: {
      title: ({ symbol }) => `${symbol} is out of service`,
      text: ({ symbol }) => `Payments in ${symbol} cannot be confirmed right now.`,
      now: () =>
        "Please do not send now. If you have sent already, nothing is lost: it counts when the service is back.",
    },
    quoteOver: {
      title: () => "This price has expired",
      text: ({ hasMoney, sum, end }) =>
        `${hasMoney ? `${sum} arrived, and counts at the price of its time. ` : ""}The order is open until ${end}.`,
      now: ({ canRenew }) =>
        `${canRenew ? "Continue with the new price. The address stays the same." : "There is no new price right now. Do not send now."} If you have sent already, do nothing: this page shows it.`,
    },
    paidOtherwise: {
      title: ({ isPaying }) =>
        isPaying ? "Another currency is being paid" : "Paid in another currency",
      text: ({ hasMoney, sum }) => (hasMoney ? `${sum} came as well.` : ""),
      now: ({ hasMoney }) =>
        hasMoney
          ? "Do not send more. To have it back, write to the shop."
          : "There is nothing to do. Do not send anything to this address.",
    },
    cancelled: {
      title: () => "The shop cancelled this payment",
      text: () => "",
      now: () =>
        "Do not send anything to this address. If you have sent already, write to the shop.",
    },
  },
};

function seenEn({
  confirmations,
  confirmationsNeeded,
  finalMinutes,
  isSlow,
}: SentenceFigures): string {
  if (isSlow)
    return "The network confirms it. Confirmation takes longer than usual now; nothing is lost.";
  if (confirmationsNeeded !== null)
    return `${Math.min(confirmations ?? 0, confirmationsNeeded)} of ${confirmationsNeeded} confirmations.`;
  if (finalMinutes === null) return "The network still confirms it.";
  return `The network confirms it, usually within ${finalMinutes} min.`;
}

const tr: PayerPageWords = {
  pageTitle: ({ shop, amount, network }) => `${shop} ödemesi: ${network} üzerinde ${amount}`,
  pay: ({ shop }) => `${shop} ödemesi`,
  otherLanguage: "English",
  network: "Ağ",
  networkOnly: ({ symbol, network }) =>
    `Yalnızca ${symbol} ve yalnızca ${network} ağında gönderin. Başka her gönderim kaybolabilir.`,
  testNetwork: "Test ağı: buradaki coinlerin değeri yoktur.",
  amount: "Tutar",
  amountLeft: "Gönderilecek kalan",
  price: (fiat, price, symbol) => `${fiat}; 1 ${symbol} = ${price}`,
  address: "Adres",
  copyAmount: "Tutarı kopyala",
  copyAddress: "Adresi kopyala",
  tag: "Hedef etiketi (tag)",
  tagNeeded: "Bu etiketi de girin. Adres ortaktır; ödemenin size ait olduğunu etiket gösterir.",
  copyTag: "Etiketi kopyala",
  copied: "Kopyalandı",
  qrFaces: "Karekod",
  faceAddress: "Adres",
  faceLink: "Cüzdan linki",
  qrAddress: "Adresin karekodu",
  qrLink: "Cüzdan linkinin karekodu",
  linkHint: (withTag) =>
    withTag
      ? "Link tutarı, adresi ve etiketi içerir. Göndermeden önce üçünü de cüzdanınızda karşılaştırın."
      : "Link tutarı ve adresi içerir. Göndermeden önce ikisini de cüzdanınızda karşılaştırın.",
  openWallet: "Cüzdanda aç",
  minutesLeft: "{} dk kaldı",
  lastMinute: "bir dakikadan az kaldı",
  payBy: "Son ödeme",
  order: "Sipariş",
  writeTo: (shop) => `${shop} iletişim:`,
  nameOrder: "Sipariş numaranızı belirtin:",
  noContact: (shop) => `${shop} ile bildiğiniz yoldan iletişime geçin.`,
  back: (shop) => `Mağazaya dön: ${shop}`,
  receipt: "Makbuz",
  paid: "Ödenen",
  asked: "İstenen",
  payment: "Ödemeniz",
  when: ["Kesinleşme", "Son değişiklik"],
  onItsWay: "Yolda",
  alsoCame: ({ others }) => `Ayrıca ${others} geldi. Geri almak için mağazaya yazın.`,
  transaction: "İşlem",
  olderTransactions: (count) => `ve daha eski ${count} işlem`,
  inExplorer: "Açık bir blok gezgininde görüntüle",
  reloads: "Betik kapalıysa bu sayfa her 15 saniyede bir yenilenir.",
  connectionLost: "Bağlantı yok. Sayfa kendiliğinden yeniden dener.",
  notFound: [
    "Böyle bir ödeme yok",
    "Adresi kontrol edin ya da mağazaya dönüp ödemeyi yeniden açın.",
  ],
  tooMany: [
    "Çok fazla istek",
    "Bir dakika bekleyip sayfayı yenileyin. Gönderdiğiniz ödeme kaybolmaz.",
  ],
  unreadable: [
    "Bu ödeme şu anda gösterilemiyor",
    "Şimdi ödeme yapmayın. Gönderdiğiniz ödeme kaybolmaz: mağazaya sorun.",
  ],
  busy: ["Bu şu anda yapılamıyor", "Geri dönüp bir dakika sonra yeniden deneyin."],
  newPrice: (amount) => `${amount} ile devam et`,
  otherCurrency: "Başka para birimiyle öde",
  choosing: {
    title: (shop, sum) => `${shop} ödemesi: ${sum}`,
    hold: (minutes) =>
      `Bir para birimi seçin: fiyatı seçtiğiniz andan itibaren ${minutes} dk geçerlidir.`,
    chooseBy: "Seçim için son zaman",
    list: "Para birimleri",
    tried: (symbol) =>
      `${symbol} şu anda seçilemedi. Bir dakika sonra yeniden deneyin ya da başka birini seçin.`,
    reasons: {
      outOfService: () => "hizmet dışı",
      noPrice: () => "şu anda fiyatı yok",
      belowMinimum: (minimum) => `en az ${minimum}`,
    },
    continues: "seçildi: devam et",
    states: {
      choose: ["Nasıl ödemek istersiniz?", ""],
      noChoice: [
        "Şu anda hiçbir para birimi seçilemiyor",
        "Birkaç dakika sonra yeniden deneyin ya da mağazaya yazın.",
      ],
      ending: [
        "Ödeme süresi doldu",
        "Ödediyseniz bekleyin: bu sayfa gösterecek. Şimdi göndermeyin.",
      ],
      expired: ["Ödeme süresi doldu", "Artık bir şey göndermeyin. Mağazada yeniden sipariş verin."],
      cancelled: [
        "Mağaza bu ödemeyi iptal etti",
        "Bir şey göndermeyin. Gönderdiyseniz mağazaya yazın.",
      ],
    },
  },
  states: {
    waiting: {
      title: () => "Ödemeniz bekleniyor",
      text: () => "",
      now: () => "Ödeme görülür görülmez bu sayfa kendiliğinden gösterir.",
    },
    unconfirmed: {
      title: () => "Ödemeniz yolda",
      text: ({ arriving, isHeld, isOpen, end }) =>
        `${arriving} ağda görüldü, henüz bir blokta değil.${isOpen && !isHeld ? ` ${end} zamanından önce bir bloğa girerse sayılır.` : ""}`,
      now: ({ isHeld, isOpen }) => {
        if (isHeld) return "Süre dolsa da sayılır. Yeniden göndermeyin.";
        return isOpen
          ? "Bekleyin. Yeniden göndermeyin."
          : "Geç kalmış olabilir. Yeniden göndermeyin: bekleyin ya da mağazaya yazın.";
      },
    },
    seen: {
      title: () => "Ödeme görüldü",
      text: (figures) => `${figures.sum} geldi. ${seenTr(figures)}`,
      now: () => "Sizin yapacağınız başka bir şey yok. Bu sayfayı kapatabilirsiniz.",
    },
    short: {
      title: ({ missing }) => `${missing} eksik`,
      text: ({ sum, amount }) => `İstenen: ${amount}. Gelen: ${sum}.`,
      now: ({ missing }) => `Eksik kalan ${missing} tutarını aynı adrese gönderin.`,
    },
    over: {
      title: () => "Ödendi, istenenden fazlası geldi",
      text: ({ sum, over }) => `${sum} geldi, istenenden ${over} fazla.`,
      now: ({ over }) => `Siparişiniz ödendi. Fazla gelen ${over} için mağazaya yazın.`,
    },
    completed: {
      title: () => "Ödendi",
      text: ({ sum }) => `${sum} geldi ve ödeme kesinleşti.`,
      now: () => "Mağazaya dönebilir ya da bu sayfayı kapatabilirsiniz.",
    },
    ending: {
      title: () => "Ödeme süresi doldu",
      text: ({ end }) => `Ağın ${end} öncesindeki son blokları okunuyor.`,
      now: () => "Ödediyseniz bekleyin. Şimdi göndermeyin.",
    },
    expired: {
      title: ({ isRevoked }) => (isRevoked ? "Ağ ödemeyi geri aldı" : "Ödeme süresi doldu"),
      text: ({ end, isRevoked }) =>
        isRevoked
          ? "Ödemenin bulunduğu blok artık ağda değil."
          : `Son ödeme zamanına (${end}) kadar ödeme görülmedi.`,
      now: ({ isRevoked }) =>
        isRevoked
          ? "Bu adrese bir şey göndermeyin. Mağazaya yazın: ödeme yeniden gelebilir."
          : "Bu adrese artık bir şey göndermeyin. Mağazada yeniden sipariş verin.",
    },
    expiredWithMoney: {
      title: () => "Süresinde eksik ödeme geldi",
      text: ({ sum, amount, end }) => `İstenen: ${amount}. ${end} itibarıyla gelen: ${sum}.`,
      now: () =>
        "Daha fazla göndermeyin. Mağazaya yazın: paranız orada, ne olacağına birlikte karar verirsiniz.",
    },
    late: {
      title: () => "Ödeme geç geldi",
      text: ({ sum, end }) => `${sum} geldi; tamamı ya da bir kısmı son zamandan (${end}) sonra.`,
      now: () =>
        "Daha fazla göndermeyin. Mağazaya yazın: paranız orada, ne olacağına birlikte karar verirsiniz.",
    },
    otherCoin: {
      title: () => "Başka bir coin geldi",
      text: ({ others, symbol }) => `${others} geldi; oysa bu sipariş ${symbol} ile ödenir.`,
      now: ({ isOpen, amount }) =>
        isOpen
          ? `Sipariş hâlâ açık: ${amount} gönderin. Gelen diğer coin için mağazaya yazın.`
          : "Daha fazla göndermeyin. Gelen coin için mağazaya yazın.",
    },
    outOfService: {
      title: ({ symbol }) => `${symbol} şu anda hizmet dışı`,
      text: ({ symbol }) => `${symbol} ödemeleri şu anda doğrulanamıyor.`,
      now: () => "Lütfen şimdi göndermeyin. Gönderdiyseniz kaybolmaz: hizmet dönünce sayılır.",
    },
    quoteOver: {
      title: () => "Bu fiyatın süresi doldu",
      text: ({ hasMoney, sum, end }) =>
        `${hasMoney ? `${sum} geldi; o anki fiyattan sayılır. ` : ""}Sipariş ${end} zamanına kadar açık.`,
      now: ({ canRenew }) =>
        `${canRenew ? "Yeni fiyatla devam edin; adres aynı kalır." : "Şu anda yeni fiyat yok. Şimdi göndermeyin."} Gönderdiyseniz bir şey yapmayın: bu sayfa gösterecek.`,
    },
    paidOtherwise: {
      title: ({ isPaying }) =>
        isPaying ? "Başka bir para birimiyle ödeniyor" : "Başka bir para birimiyle ödendi",
      text: ({ hasMoney, sum }) => (hasMoney ? `Ayrıca ${sum} geldi.` : ""),
      now: ({ hasMoney }) =>
        hasMoney
          ? "Daha fazla göndermeyin. Geri almak için mağazaya yazın."
          : "Yapılacak bir şey yok. Bu adrese bir şey göndermeyin.",
    },
    cancelled: {
      title: () => "Mağaza bu ödemeyi iptal etti",
      text: () => "",
      now: () => "Bu adrese bir şey göndermeyin. Gönderdiyseniz mağazaya yazın.",
    },
  },
};

function seenTr({
  confirmations,
  confirmationsNeeded,
  finalMinutes,
  isSlow,
}: SentenceFigures): string {
  if (isSlow) return "Ağ onaylıyor. Onay şu anda her zamankinden uzun sürüyor; ödemeniz kaybolmaz.";
  if (confirmationsNeeded !== null)
    return `${confirmationsNeeded} onaydan ${Math.min(confirmations ?? 0, confirmationsNeeded)} tanesi tamam.`;
  if (finalMinutes === null) return "Ağ onaylamayı sürdürüyor.";
  return `Ağ onaylıyor; genellikle ${finalMinutes} dk içinde biter.`;
}

export const wordsByLanguage: Readonly<Record<Language, PayerPageWords>> = { en, tr };
