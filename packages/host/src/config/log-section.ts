import type { LogSettings } from '../types/index.ts'
import { member } from './problem.ts'
import type { Reader } from './reader.ts'

const known = ['keep', 'megabytes', 'days', 'maskedHeaders', 'traceparent']
const most = { megabytes: 1_000_000, days: 36_500 }
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Reads `jackfield.log`. */
export function readLog(value: unknown, path: string, reader: Reader): LogSettings {
  const entry = reader.record(value, path) ?? {}
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) reader.problem(member(path, name), `is unknown. Known are ${known.join(', ')}`)
  }
  const count = (name: keyof typeof most): number | undefined => {
    const given = entry[name]
    if (given === undefined) return undefined
    if (typeof given === 'number' && given > 0 && given <= most[name]) return given
    reader.problem(
      member(path, name),
      `must be a number above 0, at most ${most[name]}, not ${JSON.stringify(given)}`,
    )
    return undefined
  }
  const keep = reader.flag(entry['keep'], member(path, 'keep'))
  const traceparent = reader.flag(entry['traceparent'], member(path, 'traceparent'))
  const megabytes = count('megabytes')
  const days = count('days')
  const at = member(path, 'maskedHeaders')
  const maskedHeaders = reader.texts(entry['maskedHeaders'], at)?.filter((name, index) => {
    const isName = headerName.test(name)
    if (!isName) reader.problem(member(at, index), 'is no name of a header')
    return isName
  })
  return {
    ...(keep !== undefined && { keep }),
    ...(megabytes !== undefined && { megabytes }),
    ...(days !== undefined && { days }),
    ...(traceparent !== undefined && { traceparent }),
    ...(maskedHeaders !== undefined && { maskedHeaders }),
  }
}

/** Several sections as one: the first that says something counts, and headers are masked that any of them names. */
export function mergedLog(sections: readonly LogSettings[]): LogSettings {
  const headers = sections.flatMap(({ maskedHeaders = [] }) => maskedHeaders)
  const merged = Object.assign({}, ...sections.toReversed())
  return headers.length === 0 ? merged : { ...merged, maskedHeaders: [...new Set(headers)] }
}
