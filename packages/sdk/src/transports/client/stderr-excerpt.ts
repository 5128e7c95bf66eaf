/** Characters of an excerpt. */
const maxChars = 300
/** The limit for an error that is followed by a later message. */
const maxCharsBeforeLast = 200
/** Characters of a line that are examined, to bound the time of every pattern. */
const lineChars = 500

const esc = String.fromCharCode(27)
/** Escape sequences of terminals: colours and cursor movements, then titles and links. */
const escapeSequence = new RegExp(
  `${esc}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${esc}\\u0007]*(?:\\u0007|${esc}\\\\)?)`,
  'g',
)

/** Words of a line that reports a failure. */
const failure =
  /(?:error|exception|err!|fatal|panic|panicked|unhandled|cannot|can't|could not|couldn't|unable to|failed|failure|not found|no such|denied|refused|invalid|missing)(?!\w)/i

/** Lines near a report that do not say what failed. */
const noise = [
  // Stack frames: JavaScript, Java and .NET; Python; Go; PHP.
  /^\s*at \S/,
  /^\s*\.\.\. \d+ (?:more|lines)/,
  /^\s*File "/,
  /^[\w/]\S*\(\S*\)$/,
  /^(?:goroutine \d|created by )/,
  /^#\d+ /,
  /^stack (?:trace|backtrace):$/i,
  // The source location and marker above an error of Node, and the brackets of an object.
  /^(?:node:|file:|\/|[A-Za-z]:\\)\S*:\d+$/,
  /^[\s~^]+$/,
  /^[{}()[\]]+[;,]?$/,
  // The separator between the members of a Python exception group.
  /^[-+ \d]+$/,
  // Versions, exit codes and hints.
  /^(?:Node\.js|Bun) v\d/,
  /^\(Use `node /,
  /^exit status \d+$/,
  /^note: /i,
  /^npm (?:notice|warn)\b/i,
  /^npm (?:error|ERR!) A complete log of this run/,
]

/** How to make Node run a file as an ES module, which it says in a warning before the error. */
const esModuleRemedy = /(?:Make sure to|To load an ES module,) set "type": "module".{0,100}/

/**
 * The lines of a failed program's stderr that say why it failed, as one line of at most 300 characters without control
 * characters: the last error with its continuation, else the last line. `''` if it wrote nothing.
 */
export function stderrExcerpt(stderr: string): string {
  const lines = stderr.split(/\r\n?|\n/).map(cleanLine)
  const [remedy] = lines.flatMap((line) => esModuleRemedy.exec(line)?.[0] ?? [])
  const [report, start] = reportIn(lines)
  const place = start < 0 ? undefined : placeIn(lines, start)
  const at = place === undefined || report.includes(place) ? '' : ` (${place})`
  const text = `${truncate(report, maxChars - at.length)}${at}`
  if (remedy === undefined || report.includes(remedy)) return text
  return `${truncate(text, maxChars - remedy.length - 2)}. ${remedy}`
}

/** The file and line of the program that an error of Node names: in its stack, or above it for an error of syntax. */
function placeIn(lines: readonly string[], start: number): string | undefined {
  const isOwn = (line: string): boolean => !/\bnode:|[\\/]node_modules[\\/]/.test(line)
  const frame = lines.find((line, at) => at > start && /^\s+at \S/.test(line) && isOwn(line))
  const line = frame ?? lines.findLast((line, at) => at < start && /^\S+:\d+$/.test(line) && isOwn(line))
  const [, path, number] =
    /(?:^|[\s(])(?:file:\/\/(?:\/(?=[A-Za-z]:))?)?((?:\/|[A-Za-z]:[\\/])[^()]{1,200}?):(\d+)(?::\d+)?\)?$/.exec(
      line ?? '',
    ) ?? []
  return path === undefined ? undefined : `${path}:${number}`
}

/** The lines of a report, joined, and the index of its first line; -1 unless an error is the last that was written. */
function reportIn(lines: readonly string[]): [report: string, start: number] {
  const traceback = lines.findLastIndex((line) => line.endsWith('Traceback (most recent call last):'))
  // Python prints the exception, whatever its name, after the traceback.
  const raised =
    traceback < 0 ? -1 : lines.findIndex((line, at) => at > traceback && /^\S/.test(line) && !isNoise(line))
  const isReport = (at: number): boolean => at === raised || reportsFailure(lines[at] ?? '')

  let start = lines.findLastIndex((_line, at) => isReport(at))
  if (start < 0) {
    const last =
      lines.findLast((line) => line !== '' && !isNoise(line)) ?? lines.findLast((line) => line !== '')
    return [joinLines([last ?? '']), start]
  }
  while (start > 0 && isReport(start - 1)) start--
  const end = endOf(lines, start)
  let report = joinLines(lines.slice(start, end))
  if (lines[start]?.startsWith('Caused by:') === true) {
    const outer = lines.findLastIndex(
      (line, at) => at < start && isReport(at) && !line.startsWith('Caused by:'),
    )
    if (outer >= 0) report = `${joinLines(lines.slice(outer, endOf(lines, outer)))} ${report}`
  }
  const later = lines.findLast((line, at) => at >= end && /^\S/.test(line) && !isNoise(line))
  if (later === undefined) return [report, start]
  const explained = truncate(later, maxChars - maxCharsBeforeLast - 5)
  return [`${truncate(report, maxCharsBeforeLast)} … ${explained}`, -1]
}

/** A line without control characters and without the border of a Python exception group. */
function cleanLine(line: string): string {
  const plain = line.replaceAll(escapeSequence, '').slice(0, lineChars)
  return plain
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
    .replace(/^ *[|+](?: |(?=-))/, '')
    .trimEnd()
}

function isNoise(line: string): boolean {
  return noise.some((pattern) => pattern.test(line))
}

function reportsFailure(line: string): boolean {
  return /^\S/.test(line) && failure.test(line) && !isNoise(line)
}

/** The index after the last line of a report, which may have several. */
function endOf(lines: readonly string[], start: number): number {
  const end = lines.findIndex((line, at) => at > start && (line === '' || isNoise(line)))
  return end < 0 ? lines.length : end
}

/** Joins lines, without the prefix that npm repeats in each. */
function joinLines(lines: readonly string[]): string {
  return lines
    .map((line, at) => (at === 0 ? line : line.replace(/^npm (?:error|ERR!)(?: \d+)?/, '')))
    .join(' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}

function truncate(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}
