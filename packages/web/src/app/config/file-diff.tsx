import { type ReactNode, useMemo } from 'react'
import { useText } from '../i18n/i18n.ts'
import { lineDiff } from '../text/line-diff.ts'
import { SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { ScrollBox } from '../ui/ui.tsx'
import style from './config.module.css'

const signs = { same: ' ', added: '+', removed: '−' } as const

/** The difference of a file, line by line. */
export function FileDiff({
  before,
  after,
  label,
}: {
  before: string
  after: string
  label: string
}): ReactNode {
  const t = useText()
  const lines = useMemo(() => lineDiff(before, after), [before, after])
  if (before === after) return <p className={style.muted}>{t('change.none')}</p>
  return (
    <ScrollBox className={style.diff} label={label}>
      {lines.map((line, n) =>
        line.kind === 'skipped' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of one comparison have no other identity
          <div key={n} className={style.skipped}>
            {t('change.skipped', { count: line.count })}
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of one comparison have no other identity
          <div key={n} className={`${style.line} ${style[line.kind] ?? ''}`}>
            <span className={style.number}>{'before' in line ? line.before : ''}</span>
            <span className={style.number}>{'after' in line ? line.after : ''}</span>
            <span className={style.sign}>
              <span aria-hidden="true">{signs[line.kind]}</span>
              {line.kind !== 'same' && <span className="hidden-text">{t(`diff.${line.kind}`)}</span>}
            </span>
            <span className={style.text}>
              <SafeText text={untrusted(line.text)} maxCharacters={2_000} />
            </span>
          </div>
        ),
      )}
    </ScrollBox>
  )
}
