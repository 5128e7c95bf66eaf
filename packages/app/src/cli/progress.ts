import type { ProgressReport } from '@jackfield/sdk/client'
import { oneLine } from '../output/sanitize.ts'
import { widthOf } from '../output/width.ts'
import type { TextStream } from './io.ts'

const barColumns = 24

/** Shows the progress of a call on one line of a terminal; does nothing without a terminal. */
export function progressLine(stream: TextStream): {
  report(progress: ProgressReport): void
  clear(): void
} {
  let drawn = false
  if (!stream.isTTY) return { report: () => {}, clear: () => {} }
  return {
    report(progress) {
      const line = progressText(progress)
      const room = Math.max(10, (stream.columns ?? 80) - 1)
      stream.write(`\r\u001b[K${widthOf(line) > room ? line.slice(0, room) : line}`)
      drawn = true
    },
    clear() {
      if (drawn) stream.write('\r\u001b[K')
      drawn = false
    },
  }
}

/** `████████░░░░ 33% message`, or the plain count without a total. */
export function progressText({ progress, total, message }: ProgressReport): string {
  const words = message === undefined ? '' : ` ${oneLine(message)}`
  if (total === undefined || !(total > 0)) return `${progress}${words}`
  const share = Math.min(1, Math.max(0, progress / total))
  const full = Math.round(share * barColumns)
  return `${'█'.repeat(full)}${'░'.repeat(barColumns - full)} ${Math.round(share * 100)}%${words}`
}
