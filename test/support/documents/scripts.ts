/** Thirty languages in the scripts of the world: the first article of the Universal Declaration of Human Rights begins so. */

export interface Sample {
  readonly name: string;
  readonly lang: string;
  readonly text: string;
  /** What becomes of it with Typst's own fonts: right, or named by `--strict`. */
  readonly outcome: "right" | "named";
}

const right = (name: string, lang: string, text: string): Sample => ({ name, lang, text, outcome: "right" });
const named = (name: string, lang: string, text: string): Sample => ({ name, lang, text, outcome: "named" });

export const SAMPLES: readonly Sample[] = [
  right("English", "en", "All human beings are born free and equal in dignity and rights."),
  right("German", "de", "Alle Menschen sind frei und gleich an Würde und Rechten geboren."),
  right("Vietnamese", "vi", "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền."),
  right("Turkish", "tr", "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar."),
  right("Greek", "el", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια."),
  right("Russian", "ru", "Все люди рождаются свободными и равными в своем достоинстве и правах."),
  right("Armenian", "hy", "Բոլոր մարդիկ ծնվում են ազատ ու հավասար՝ իրենց արժանապատվությամբ։"),
  right("Georgian", "ka", "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა."),
  right("Hebrew", "he", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם."),
  named("Arabic", "ar", "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق."),
  named("Persian", "fa", "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند."),
  named("Urdu", "ur", "تمام انسان آزاد اور حقوق و عزت کے اعتبار سے برابر پیدا ہوئے ہیں۔"),
  named("Hindi", "hi", "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।"),
  named("Marathi", "mr", "सर्व मानवी व्यक्ति जन्मतः स्वतंत्र आहेत."),
  named("Bengali", "bn", "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।"),
  named("Punjabi", "pa", "ਸਾਰਾ ਮਨੁੱਖੀ ਪਰਿਵਾਰ ਆਪਣੀ ਮਹਿਮਾ, ਸ਼ਾਨ ਅਤੇ ਹੱਕਾਂ ਦੇ ਪੱਖੋਂ ਜਨਮ ਤੋਂ ਹੀ ਆਜ਼ਾਦ ਹੈ."),
  named("Gujarati", "gu", "પ્રતિષ્ઠા અને અધિકારોની દૃષ્ટિએ સર્વ માનવો જન્મથી સ્વતંત્ર છે."),
  named("Tamil", "ta", "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்."),
  named("Telugu", "te", "ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులు."),
  named("Kannada", "kn", "ಎಲ್ಲಾ ಮಾನವರೂ ಸ್ವತಂತ್ರರಾಗಿಯೇ ಜನಿಸಿದ್ದಾರೆ."),
  named("Malayalam", "ml", "മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും അന്തസ്സോടും സ്വാതന്ത്ര്യത്തോടുംകൂടി ജനിച്ചവരാണ്."),
  named("Sinhala", "si", "සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත."),
  named("Thai", "th", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ"),
  named("Lao", "lo", "ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະ ສະເໝີໜ້າກັນ"),
  named("Khmer", "km", "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព"),
  named("Burmese", "my", "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း"),
  named("Amharic", "am", "የሰው፡ልጅ፡ሁሉ፡ሲወለድ፡ነጻና፡በክብርና፡በመብትም፡እኩልነት፡ያለው፡ነው።"),
  named("Chinese", "zh", "人人生而自由,在尊严和权利上一律平等。"),
  named("Japanese", "ja", "すべての人間は、生まれながらにして自由である。"),
  named("Korean", "ko", "모든 인간은 태어날 때부터 자유로우며 동등하다."),
];
