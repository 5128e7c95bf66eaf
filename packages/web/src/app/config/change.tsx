import type { ConfigChange, ConfigPlan } from '@jackfield/host/browser'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { asError, useHost } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, fromHost, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Note } from '../ui/ui.tsx'
import style from './config.module.css'
import { FileDiff } from './file-diff.tsx'

/** A change of the configuration: planned, reviewed and written. */
export interface Change {
  readonly planned: FromHost<ConfigPlan> | undefined
  readonly isRunning: boolean
  readonly error: Error | undefined
  /** Plans a change for the review; resolves with whether that succeeded. */
  plan(change: ConfigChange): Promise<boolean>
  save(): Promise<boolean>
  cancel(): void
}

export function useChange(onSaved?: () => void): Change {
  const { client } = useHost()
  const [planned, setPlanned] = useState<FromHost<ConfigPlan>>()
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<Error>()
  /** The id of the change that is reviewed. */
  const latest = useRef<string>(undefined)
  const run = useCallback(async (operation: () => Promise<void>): Promise<boolean> => {
    setRunning(true)
    setError(undefined)
    try {
      await operation()
      return true
    } catch (reason) {
      setError(asError(reason))
      return false
    } finally {
      setRunning(false)
    }
  }, [])
  return {
    planned,
    isRunning,
    error,
    plan: (change) =>
      run(async () => {
        latest.current = undefined
        const plan = fromHost(await client.call('config.plan', change))
        latest.current = plan.id
        setPlanned(plan)
      }),
    save: () =>
      run(async () => {
        if (planned === undefined) return
        await client.call('config.write', { id: planned.id })
        // The file is written before its servers are started anew: by then, the person may review another change.
        if (latest.current !== planned.id) return
        setPlanned(undefined)
        onSaved?.()
      }),
    cancel() {
      setPlanned(undefined)
      setError(undefined)
    },
  }
}

/** The review of a planned change: its effects on the file and the servers, or why it cannot be made. */
export function ChangeReview({ change }: { change: Change }): ReactNode {
  const t = useText()
  const { planned, error, isRunning } = change
  const section = useRef<HTMLElement>(null)
  const isOpen = planned !== undefined
  useEffect(() => {
    if (!isOpen) return
    section.current?.scrollIntoView({ block: 'nearest' })
    section.current?.focus({ preventScroll: true })
  }, [isOpen])
  return (
    <>
      {error !== undefined && <ErrorNote error={error} />}
      {planned !== undefined && (
        <section className={style.review} ref={section} tabIndex={-1} aria-label={t('change.review')}>
          <h3>{t('change.review')}</h3>
          <PlanFacts plan={planned} />
          <div className={style.acts}>
            <Button
              look="primary"
              isOff={isRunning || plainText(planned.before) === plainText(planned.after)}
              data-act="save"
              onClick={() => change.save()}
            >
              {t('change.save')}
            </Button>
            <Button isOff={isRunning} onClick={() => change.cancel()}>
              {t('change.cancel')}
            </Button>
          </div>
        </section>
      )}
    </>
  )
}

/** File, effects and difference of a change. */
export function PlanFacts({ plan }: { plan: FromHost<ConfigPlan> }): ReactNode {
  const t = useText()
  const { effect } = plan
  const names = (list: readonly Parameters<typeof plainText>[0][]): string => list.map(plainText).join(', ')
  return (
    <>
      <p className={style.path}>
        <SafeText text={plan.file} inline /> {plan.hash === null && `(${t('change.new')})`}
      </p>
      <ul className={style.effects}>
        {(['added', 'changed', 'removed'] as const).map(
          (kind) =>
            effect[kind].length > 0 && (
              <li key={kind}>
                {t(`change.${kind}`)} <SafeText text={untrusted(names(effect[kind]))} inline />
              </li>
            ),
        )}
        {plan.secrets.length > 0 && (
          <li>
            {t('change.secrets')} <SafeText text={untrusted(names(plan.secrets))} inline />
          </li>
        )}
      </ul>
      {plan.problems.map(({ message, path }) => (
        <Note key={`${plainText(path)} ${plainText(message)}`} tone="warn">
          <SafeText text={path} inline /> <HostText text={message} />
        </Note>
      ))}
      <FileDiff before={plainText(plan.before)} after={plainText(plan.after)} label={t('change.diff')} />
    </>
  )
}

/** A file with its line, the folder before it dimmed. */
export function FileLocation({ file, line }: { file: string; line?: number | undefined }): ReactNode {
  const nameStart = file.lastIndexOf('/') + 1
  return (
    <span className={style.place} title={file}>
      <SafeText text={untrusted(`${file.slice(nameStart)}${line === undefined ? '' : `:${line}`}`)} inline />
    </span>
  )
}
