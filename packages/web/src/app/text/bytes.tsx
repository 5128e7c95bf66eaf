import { type ReactNode, useMemo } from 'react'
import { ScrollBox } from '../ui/ui.tsx'
import style from './text.module.css'

const maxBytes = 4_096

/** Bytes in hexadecimal with their ASCII characters, sixteen a line. */
export function Bytes({ base64, label }: { base64: string; label: string }): ReactNode {
  const lines = useMemo(() => {
    const binary = atob(base64.slice(0, Math.ceil(maxBytes / 3) * 4))
    return (binary.match(/[\s\S]{1,16}/g) ?? []).map((line, n) => {
      const hex = [...line].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join(' ')
      const ascii = line.replace(/[^\x20-\x7e]/g, '·')
      return `${(n * 16).toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${ascii}`
    })
  }, [base64])
  return (
    <ScrollBox className={style.box} label={label}>
      <pre>{lines.join('\n')}</pre>
    </ScrollBox>
  )
}
