import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useNow } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, Key, Views } from '../ui/ui.tsx'
import style from './inspect.module.css'
import type { InspectorRun } from './run.ts'

/** The layout of a tool, prompt or resource: its form and its result side by side, or in two tabs in a narrow window. */
export function RunLayout({
  server,
  kind,
  title,
  head,
  form,
  run,
  action,
  isOff = false,
  onRun,
  children,
}: {
  server: string
  kind: 'tools' | 'prompts' | 'resources' | 'templates'
  title: string
  head: ReactNode
  form: ReactNode
  run: InspectorRun
  /** The label of the button. */
  action: string
  isOff?: boolean
  onRun: () => void
  /** The result. */
  children: ReactNode
}): ReactNode {
  const t = useText()
  const [part, setPart] = useState<'form' | 'result'>('form')
  const { isRunning } = run
  const output = useRef<HTMLElement>(null)
  const isStarted = useRef(false)
  useEffect(() => {
    document.querySelector<HTMLElement>('main h2')?.focus()
  }, [])
  // Where the result is below the form, it comes into view.
  useEffect(() => {
    if (!isStarted.current || (run.run === undefined && run.question === undefined)) return
    isStarted.current = run.run === undefined
    const top = output.current?.getBoundingClientRect().top ?? 0
    if (top > innerHeight / 2) output.current?.scrollIntoView({ block: 'start' })
  }, [run.run, run.question])
  const start = (): void => {
    if (isOff || isRunning) return
    setPart('result')
    onRun()
    isStarted.current = true
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a key of the form
    <div
      className={style.bench}
      data-part={part}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          start()
        }
      }}
    >
      <section className={style.input} aria-label={t('inspect.input')}>
        <Link href={routes.inspectKind.to(server, kind)} className={style.back ?? ''}>
          ‹ <bdi>{server}</bdi>
        </Link>
        <h2 tabIndex={-1}>
          <SafeText text={untrusted(title)} inline />
        </h2>
        <div className={style.parts}>
          <Views
            label={t('inspect.part')}
            views={[
              ['form', t('inspect.input')],
              ['result', t('inspect.result')],
            ]}
            value={part}
            onChange={setPart}
          />
        </div>
        <div className={style.formPart}>
          {head}
          {form}
        </div>
        <div className={style.runBar}>
          <Button look="primary" isOff={isOff || isRunning} onClick={start} data-act="run">
            {action} <Key>Ctrl ⏎</Key>
          </Button>
          {isRunning && (
            <Button onClick={run.stop} data-act="stop">
              {t('chat.stop')}
            </Button>
          )}
          {isRunning && run.row !== undefined && run.question === undefined && <Progress row={run.row} />}
        </div>
      </section>
      <section ref={output} className={style.output} aria-label={t('inspect.output')}>
        {children}
      </section>
    </div>
  )
}

/** A collapsed section whose content is rendered when it is opened first. */
export function Fold({ title, children }: { title: ReactNode; children: ReactNode }): ReactNode {
  const [isOpened, setOpened] = useState(false)
  return (
    <details
      className={style.options}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) setOpened(true)
      }}
    >
      <summary>{title}</summary>
      {isOpened && children}
    </details>
  )
}

/** The progress of a run as reported by the server, and its duration. */
function Progress({ row }: { row: NonNullable<InspectorRun['row']> }): ReactNode {
  const t = useText()
  const { age, number } = useFormat()
  const now = useNow()
  const { progress, total, message } = row.progress ?? {}
  return (
    <span className={style.progress} role="status">
      <progress value={progress} max={total} aria-label={t('inspect.progress')} />
      <span>
        {progress !== undefined &&
          (total === undefined ? number(progress) : `${number(progress)}/${number(total)}`)}{' '}
        {message !== undefined && <SafeText text={message} maxCharacters={120} inline />}{' '}
        <span className={style.quiet}>{age(now - Date.parse(row.at))}</span>
      </span>
    </span>
  )
}
