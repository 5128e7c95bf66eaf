import type { TraceFormat } from '@jackfield/host/browser'
import { Download } from 'lucide-react'
import { type ReactNode, useCallback, useState } from 'react'
import { useAction, useHost } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Button } from '../ui/ui.tsx'
import style from './inspect.module.css'

type Format = TraceFormat | 'recording'

/**
 * Exports events as a file, which the host streams to the browser. `isWithin`: the filter names one activity, and the file has the
 * events that it caused.
 */
export function ExportButton({
  label,
  formats,
  filter,
  isWithin = false,
}: {
  label: string
  formats: readonly Format[]
  filter: string
  isWithin?: boolean
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [isOpen, setOpen] = useState(false)
  const action = useAction(
    useCallback(
      async (format: Format) => {
        setOpen(false)
        const ids = isWithin ? await client.call('trace.list', { filter, limit: 1 }) : undefined
        const exportFilter = ids === undefined ? filter : `cause:${ids[0]?.id ?? 0}`
        const ticket = await client.call('trace.export', { format, filter: exportFilter })
        const link = document.createElement('a')
        link.href = `/blob/${ticket}`
        link.download = ''
        link.click()
      },
      [client, filter, isWithin],
    ),
  )
  const [only] = formats
  return (
    <span className={style.menuPlace}>
      <Button
        small
        isOff={action.isRunning}
        data-act="export"
        aria-expanded={formats.length > 1 ? isOpen : undefined}
        onClick={() => {
          if (formats.length > 1) setOpen(!isOpen)
          else if (only !== undefined) void action.run(only)
        }}
      >
        <Download size={16} strokeWidth={1.5} aria-hidden="true" /> {label}
      </Button>
      {isOpen && (
        <div className={style.menu}>
          {formats.map((format) => (
            <button type="button" key={format} data-format={format} onClick={() => void action.run(format)}>
              <strong>{t(`export.${format}`)}</strong>
              <span className={style.menuText}>{t(`export.${format}.means`)}</span>
            </button>
          ))}
        </div>
      )}
      {action.error !== undefined && <ErrorNote error={action.error} />}
    </span>
  )
}
