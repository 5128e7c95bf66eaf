import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom/worker'
import { toMarkdown } from './markdown.ts'
import { sanitize } from './sanitize.ts'
import type { Format } from './types.ts'

/**
 * Converts a page: first all of its visible text, then the main content, which takes longer. Runs in a worker thread
 * (`convert-worker.ts`), because a hostile page can take very long.
 */

export interface ConversionJob {
  readonly html: string
  readonly url: string
  readonly format: Exclude<Format, 'html'>
}

/** The whole page, or its main content. */
export type Conversion =
  | {
      readonly type: 'whole'
      readonly title: string | undefined
      readonly content: string
      readonly notes: readonly string[]
    }
  | { readonly type: 'main'; readonly title: string | undefined; readonly content: string }
  /** The page has no main content that differs from the whole. */
  | { readonly type: 'none' }

/** Maximum elements of a page for the extraction of its main content. */
const maxExtractionElements = 20_000
/** Shorter main content is used only if it is at least a quarter of the page. */
const minMainChars = 1_000

/** Yields the whole page, and then its main content. */
export function* convert({ html, url, format }: ConversionJob): Generator<Conversion> {
  const isPlain = format === 'text'
  const sanitized = sanitize(html, new URL(url))
  const { title, hiddenElements, invisibleCharacters } = sanitized
  const whole = toMarkdown(sanitized.html, isPlain)
  const notes = [
    sanitized.isCut
      ? 'The page has too many elements, or too many within each other; the rest is left out.'
      : '',
    hiddenElements > 0
      ? `${hiddenElements} hidden elements with text are left out; "format": "html" returns them.`
      : '',
    invisibleCharacters > 0 ? `${invisibleCharacters} invisible characters are left out.` : '',
  ].filter((note) => note !== '')
  yield { type: 'whole', title, content: whole, notes }
  const { document } = parseHTML(sanitized.html)
  const article = new Readability(document, {
    maxElemsToParse: maxExtractionElements,
    charThreshold: 200,
    // The class names the language of preformatted text.
    keepClasses: true,
  }).parse()
  const content = typeof article?.content === 'string' ? toMarkdown(article.content, isPlain) : ''
  const isWorse = content.length < minMainChars && content.length < whole.length / 4
  if (content === '' || isWorse) yield { type: 'none' }
  else yield { type: 'main', title: article?.title?.trim() || title, content }
}
