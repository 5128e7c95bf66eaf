import { readHtml } from './html-events.ts'
import { visibleText } from './text.ts'
import { limits } from './types.ts'

/**
 * Reduces a page to small, well-formed HTML of its visible part: without scripts, forms, hidden elements, invisible characters and
 * most attributes; with absoluteUrl http: and https: URLs; with limits of elements and depth. The input is read in one pass, so the
 * time is linear in its length.
 */

export interface Sanitized {
  readonly html: string
  readonly title: string | undefined
  /** Number of hidden elements with text that were omitted. */
  readonly hiddenElements: number
  /** Number of invisible characters that were removed. */
  readonly invisibleCharacters: number
  /** Whether the page exceeded a limit, so that the rest was omitted. */
  readonly isCut: boolean
}

/** Elements that are omitted with their content. */
const omittedElements = new Set(
  'script style template noscript iframe frame object embed applet svg canvas audio video map input select option optgroup datalist textarea button meter progress title'.split(
    ' ',
  ),
)

const voidElements = new Set([
  'area',
  'base',
  'br',
  'col',
  'hr',
  'img',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
])

/** Elements without meaning for the conversion. They are omitted, but not their content. */
const unwrappedElements = new Set([
  'html',
  'head',
  'body',
  'meta',
  'font',
  'form',
  'fieldset',
  'label',
  'center',
  'link',
  'base',
  'source',
  'track',
  'col',
])

/** Attributes that are kept, mainly for the extraction of the main content. */
const keptAttributes = ['class', 'id', 'role', 'itemprop', 'rel', 'start', 'datetime', 'lang', 'dir']
const maxAttributeChars = 200

/** Declarations that make an element invisible, in an inline style without white space. */
const hiddenStyle =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|opacity:0?\.?0*(?:%|;|!|$)|font-size:0(?:\.0+)?(?:px|em|rem|pt|%)?(?:;|!|$)|color:(?:transparent|rgba\([^)]*,0(?:\.0+)?\))|(?:left|top|right|bottom|text-indent|margin-left|margin-top):-(?:\d{4,}|999)|clip:rect\((?:0|1px|1)|clip-path:inset\((?:50|100)%|transform:scale\(0\))/
/** Declarations that hide an element in combination with `overflow: hidden`. */
const zeroSize = /(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|!|$)/
const hiddenOverflow = /(?:^|;)overflow(?:-[xy])?:(?:hidden|clip)/

/** Sanitizes a page. @param base the URL of the page */
export function sanitize(source: string, base: URL): Sanitized {
  const out: string[] = []
  const metadata: string[] = []
  const open: { name: string; isEmitted: boolean; isHidden: boolean }[] = []
  let elements = 0
  let depth = 0
  let hidden = 0
  let hiddenElements = 0
  let invisibleCharacters = 0
  let baseUrl = base
  let isCut = false
  let title = ''
  let isInTitle = false
  /** Whether the outermost hidden element contains text. */
  let isTextHidden = false

  const clean = (text: string): string => {
    const { text: visible, removed } = visibleText(text)
    invisibleCharacters += removed
    return visible
  }
  readHtml(source, {
    open(name, attributes) {
      if (open.length >= limits.openElements) {
        // The time of the parser grows with the number of open elements.
        isCut = true
        return false
      }
      if (name === 'base' && attributes['href'] !== undefined)
        baseUrl = absoluteUrl(attributes['href'], base) ?? base
      if (name === 'meta' && metadata.length < 100) metadata.push(metaTag(attributes))
      isInTitle = name === 'title' && hidden === 0 && title === ''
      const isHiddenHere = isHidden(name, attributes)
      if (isHiddenHere && hidden++ === 0) isTextHidden = false
      const isEmitted = hidden === 0 && !isCut && depth < limits.depth && !unwrappedElements.has(name)
      if (isEmitted) {
        elements++
        if (elements > limits.elements) isCut = true
        out.push(openTag(name, attributes, baseUrl, clean))
        if (!voidElements.has(name)) depth++
      }
      open.push({ name, isEmitted, isHidden: isHiddenHere })
      return true
    },
    text(text) {
      if (isInTitle) title += text.slice(0, 1_000 - title.length)
      else if (hidden > 0) isTextHidden ||= text.trim() !== ''
      else if (!isCut) out.push(escapeHtml(clean(text)))
    },
    close(name) {
      if (name === 'title') isInTitle = false
      const element = open.pop()
      if (element === undefined) return
      if (element.isHidden && --hidden === 0 && isTextHidden && !omittedElements.has(name)) hiddenElements++
      if (!element.isEmitted || voidElements.has(name)) return
      depth--
      out.push(`</${name}>`)
    },
  })
  for (const { name, isEmitted } of open.toReversed())
    if (isEmitted && !voidElements.has(name)) out.push(`</${name}>`)
  const shownTitle = clean(title).replace(/\s+/g, ' ').trim()
  const head = `<head><title>${escapeHtml(shownTitle)}</title>${metadata.join('')}</head>`
  return {
    html: `<!doctype html><html>${head}<body>${out.join('')}</body></html>`,
    title: shownTitle === '' ? undefined : shownTitle,
    hiddenElements,
    invisibleCharacters,
    isCut,
  }
}

/** An absoluteUrl http: or https: URL; undefined for any other, such as javascript: and data:. */
export function absoluteUrl(reference: string, base: URL): URL | undefined {
  if (reference.length > limits.attributeChars) return undefined
  const url = URL.parse(reference.trim(), base)
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function isHidden(name: string, attributes: Readonly<Record<string, string>>): boolean {
  if (omittedElements.has(name)) return true
  if (attributes['hidden'] !== undefined || attributes['aria-hidden']?.toLowerCase() === 'true') return true
  if (name === 'dialog' && attributes['open'] === undefined) return true
  const style = attributes['style']
  if (style === undefined) return false
  const declarations = style
    .slice(0, limits.attributeChars)
    .replace(/\s|\/\*.*?\*\//g, '')
    .toLowerCase()
  return hiddenStyle.test(declarations) || (zeroSize.test(declarations) && hiddenOverflow.test(declarations))
}

function openTag(
  name: string,
  attributes: Readonly<Record<string, string>>,
  base: URL,
  clean: (text: string) => string,
): string {
  const kept: string[] = []
  const add = (key: string, value: string | undefined): void => {
    if (value !== undefined && value !== '') kept.push(` ${key}="${escapeHtml(value)}"`)
  }
  for (const key of keptAttributes) add(key, attributes[key]?.slice(0, maxAttributeChars))
  if (name === 'a') add('href', linkTarget(attributes['href'], base))
  if (name === 'img') {
    const [source] = [attributes['src'], attributes['data-src'], attributes['data-original']].flatMap(
      (value) => (value === undefined ? [] : (absoluteUrl(value, base)?.href ?? [])),
    )
    const alternative = clean(attributes['alt'] ?? '').slice(0, limits.attributeChars)
    // An image without a usable URL becomes its alternative text.
    if (source === undefined) return escapeHtml(alternative)
    add('src', source)
    add('alt', alternative)
  }
  return `<${/^[a-z][a-z0-9-]*$/.test(name) ? name : 'span'}${kept.join('')}>`
}

function linkTarget(reference: string | undefined, base: URL): string | undefined {
  if (reference === undefined || reference.startsWith('#')) return undefined
  if (/^mailto:[^\s<>"]{3,300}$/i.test(reference)) return reference
  return absoluteUrl(reference, base)?.href
}

function metaTag(attributes: Readonly<Record<string, string>>): string {
  const { content } = attributes
  const name = attributes['property'] ?? attributes['name']
  if (content === undefined || name === undefined || name.length > 100) return ''
  return `<meta name="${escapeHtml(name)}" content="${escapeHtml(visibleText(content.slice(0, 1_000)).text)}">`
}
