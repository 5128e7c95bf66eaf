import { makeVisible } from '@jackfield/host/browser'
import { type Messages, setupI18n } from '@lingui/core'
import { createElement, Fragment, type ReactNode, useSyncExternalStore } from 'react'
import english from '../../../locales/en.po'

/** Languages of the page with their own names. */
export const languages = { en: 'English', 'zh-CN': '简体中文' } as const
export type Language = keyof typeof languages

const storageKey = 'jackfield.language'
const catalogs: Readonly<Record<Language, () => Promise<Messages>>> = {
  en: async () => english,
  'zh-CN': async () => (await import('../../../locales/zh-CN.po')).default,
}
const i18n = setupI18n({ locale: 'en', messages: { en: english } })

/** A message of the catalogs by its id. A placeholder takes a text or a number. */
export type Text = (id: string, values?: Readonly<Record<string, string | number>>) => string

function isLanguage(value: string | null): value is Language {
  return value !== null && Object.hasOwn(languages, value)
}

/** The language that the user chose, else that of the browser. */
export function firstLanguage(): Language {
  const chosen = localStorage.getItem(storageKey)
  if (isLanguage(chosen)) return chosen
  return navigator.languages.some((language) => /^zh\b/i.test(language)) && !/^en\b/i.test(navigator.language)
    ? 'zh-CN'
    : 'en'
}

/** Translates sentences of the host, which are in English, into the language of the page. */
let translate: ((sentence: string) => string | undefined) | undefined

/** Shows the page in another language, without a reload. */
export async function setLanguage(language: Language, { keep = false } = {}): Promise<void> {
  const messages = await catalogs[language]()
  if (language === 'en') translate = undefined
  else {
    const [{ translator }, sentences] = await Promise.all([
      import('./host-sentences.ts'),
      import('../../../locales/host.zh-CN.po'),
    ])
    translate = translator(sentences.default)
  }
  i18n.loadAndActivate({ locale: language, messages })
  document.documentElement.lang = language
  if (keep) localStorage.setItem(storageKey, language)
}

const subscribe = (listener: () => void): (() => void) => i18n.on('change', listener)
const texts = new Map<string, Text>()

/** Replaces backslashes in values. */
const backslash = '\u0002'

/**
 * Protects values that a server may have written: Lingui decodes escapes such as `\u202e` in a message together with its values,
 * which would insert invisible characters.
 */
function shown(values: Readonly<Record<string, string | number>>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? makeVisible(value).replaceAll('\\', backslash) : value,
    ]),
  )
}

/** A function that returns a message in the language of the page. */
export function useText(): Text {
  const locale = useSyncExternalStore(subscribe, () => i18n.locale)
  let text = texts.get(locale)
  if (text === undefined) {
    text = (id, values) =>
      values === undefined ? i18n._(id) : i18n._(id, shown(values)).replaceAll(backslash, '\\')
    texts.set(locale, text)
  }
  return text
}

/** The outcome of an activity in the language of the page. The filter of the log takes it as the host writes it. */
export function useOutcome(): (outcome: string) => string {
  const text = useText()
  return (outcome) => {
    const id = `outcome.${outcome}`
    return id in english ? text(id) : outcome
  }
}

/** A sentence of the host in the language of the page. `isEnglish`: there is no translation. */
export function useHostSentence(sentence: string): { sentence: string; isEnglish: boolean } {
  useLanguage()
  const translated = translate?.(sentence)
  return { sentence: translated ?? sentence, isEnglish: translate !== undefined && translated === undefined }
}

/** A sentence of the host in the language of the page now, for code that is no component. */
export function hostSentence(sentence: string): string {
  return translate?.(sentence) ?? sentence
}

export function useLanguage(): Language {
  const locale = useSyncExternalStore(subscribe, () => i18n.locale)
  return isLanguage(locale) ? locale : 'en'
}

/** A message whose placeholders are React elements. */
export function rich(text: Text, id: string, parts: Readonly<Record<string, ReactNode>>): ReactNode {
  const names = Object.keys(parts)
  const marked = text(id, Object.fromEntries(names.map((name) => [name, `⦃${name}⦄`])))
  return marked
    .split(/[⦃⦄]/)
    .map((piece, n) => createElement(Fragment, { key: n }, n % 2 === 1 ? parts[piece] : piece))
}

/** Formats times and numbers in the language of the page. */
export function useFormat(): {
  number(value: number): string
  /** `200K` */
  compact(value: number): string
  percent(share: number): string
  money(value: number, currency?: string): string
  time(iso: string): string
  /** The time without its seconds. */
  clock(iso: string): string
  dateTime(iso: string): string
  duration(ms: number): string
  age(ms: number): string
} {
  const locale = useLanguage()
  const cached = formats.get(locale)
  if (cached !== undefined) return cached
  const number = new Intl.NumberFormat(locale)
  const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
  const time = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const dateTime = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    hourCycle: 'h23',
  })
  const unit = (name: string, digits = 0): Intl.NumberFormat =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: digits,
    })
  const units = {
    ms: unit('millisecond'),
    s: unit('second', 1),
    whole: unit('second'),
    min: unit('minute'),
    h: unit('hour'),
    d: unit('day'),
  }
  const formatters = {
    number: (value: number) => number.format(value),
    compact: (value: number) => short.format(value),
    percent: (value: number) => share.format(value),
    // A configuration may name a currency that is not an ISO 4217 code.
    money: (value: number, currency = 'USD') =>
      /^[A-Za-z]{3}$/.test(currency)
        ? new Intl.NumberFormat(locale, {
            style: 'currency',
            currency,
            currencyDisplay: 'narrowSymbol',
            maximumSignificantDigits: 2,
          }).format(value)
        : `${number.format(value)} ${currency}`,
    time: (iso: string) => time.format(new Date(iso)),
    clock: (iso: string) => clock.format(new Date(iso)),
    dateTime: (iso: string) => dateTime.format(new Date(iso)),
    duration: (ms: number) => (ms < 1_000 ? units.ms.format(ms) : units.s.format(ms / 1_000)),
    age(ms: number) {
      const seconds = Math.max(0, Math.floor(ms / 1_000))
      if (seconds < 60) return units.whole.format(seconds)
      if (seconds < 3_600) return units.min.format(Math.floor(seconds / 60))
      if (seconds < 86_400) return units.h.format(Math.floor(seconds / 3_600))
      return units.d.format(Math.floor(seconds / 86_400))
    },
  }
  formats.set(locale, formatters)
  return formatters
}

const formats = new Map<string, ReturnType<typeof useFormat>>()
