import type { HostTask } from '@jackfield/host/browser'
import { Check, CircleHelp, CircleSlash, CircleX, LoaderCircle, Unplug } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { Link } from 'wouter'
import { useAction, useHost, useRead, useTopic } from '../data/host.tsx'
import { rich, useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Blocks } from '../text/blocks.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { ExactJson, JsonTree, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plainText } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Lamp, Note, uiStyle } from '../ui/ui.tsx'
import style from './tasks.module.css'

export type Task = FromHost<HostTask>

const looks = {
  working: { tone: 'info', Icon: LoaderCircle },
  input_required: { tone: 'warn', Icon: CircleHelp },
  completed: { tone: 'ok', Icon: Check },
  failed: { tone: 'danger', Icon: CircleX },
  cancelled: { tone: 'off', Icon: CircleSlash },
  lost: { tone: 'danger', Icon: Unplug },
} as const

export function isRunning({ status }: Task): boolean {
  return status === 'working' || status === 'input_required'
}

export function State({ task: { status } }: { task: Task }): ReactNode {
  const t = useText()
  const { tone, Icon } = looks[status]
  return (
    <Lamp tone={tone} icon={<Icon size={16} strokeWidth={1.5} aria-hidden="true" />}>
      {t(`task.${status}`)}
    </Lamp>
  )
}

/** The progress of a task with the message of the server. */
export function Progress({ task }: { task: Task }): ReactNode {
  const t = useText()
  const { progress, message, server } = task
  const text = progress?.message ?? message
  return (
    <div className={style.progress}>
      {isRunning(task) && progress !== undefined && (
        <progress
          value={progress.total === undefined ? undefined : progress.progress}
          max={progress.total}
          aria-label={t('task.progress', { tool: plainText(task.tool) })}
        />
      )}
      {text !== undefined && <SafeText text={text} maxCharacters={160} inline />}
      {isRunning(task) && !task.followed && <span>{t('task.waits', { server })}</span>}
    </div>
  )
}

/** Buttons to answer the question of a task, or to cancel it. */
export function TaskActions({ task }: { task: Task }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const inbox = useTopic('inbox')
  const question = [...(inbox?.values() ?? [])].find(
    ({ state, rows }) => state === 'open' && rows.includes(task.activity),
  )
  const cancel = useAction(useCallback((id: string) => client.call('tasks.cancel', { id }), [client]))
  return (
    <div className={style.acts}>
      {isRunning(task) && question !== undefined && (
        <Link
          href={routes.question.to(question.id)}
          className={`${uiStyle.button} ${uiStyle.small} ${uiStyle.primary}`}
        >
          {t('task.question')}
        </Link>
      )}
      {isRunning(task) && (
        <Button
          small
          isOff={cancel.isRunning}
          onClick={() => void cancel.run(task.id)}
          data-act="cancel-task"
        >
          {t('task.cancel')}
        </Button>
      )}
      {cancel.error !== undefined && <ErrorNote error={cancel.error} />}
    </div>
  )
}

/** One task, on its own screen and among what its server offers. */
export function TaskDetail({ task, back }: { task: Task; back: ReactNode }): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { id, server, tool, createdAt, expiresAt, activity, arguments: args, conversation } = task
  const hasResult = task.status === 'completed' || task.status === 'failed'
  const result = useRead('tasks.result', { id }, { enabled: hasResult })
  return (
    <div className={screen.stack}>
      {back}
      <h2>
        <bdi>{server}</bdi> <SafeText text={tool} inline />
      </h2>
      <div className={screen.bar}>
        <State task={task} />
        <Progress task={task} />
        <TaskActions task={task} />
      </div>
      <p className={screen.muted}>
        {t('task.since', { time: dateTime(plainText(createdAt)) })}
        {expiresAt !== null && isRunning(task) && (
          <> · {t('task.expires', { time: dateTime(plainText(expiresAt)) })}</>
        )}{' '}
        <Link href={routes.activity.to(activity)}>{t('task.activity', { id: activity })}</Link>
        {conversation !== undefined && (
          <>
            {' '}
            <Link href={routes.chat.to(conversation)}>{t('card.conversation')}</Link>
          </>
        )}
        <br />
        {rich(t, 'task.id', { id: <SafeText text={task.taskId} maxCharacters={200} inline /> })}
      </p>
      <ExactJson value={args} label={t('task.arguments')} />
      {result.data !== undefined && (
        <>
          {result.data.result.isError === true && <Note tone="danger">{t('call.failed')}</Note>}
          <Blocks content={result.data.result.content} label={t('task.result')} />
          {result.data.result.structuredContent !== undefined && (
            <JsonTree value={result.data.result.structuredContent} label={t('task.result')} />
          )}
        </>
      )}
      {hasResult && result.error !== null && <Note tone="info">{t('task.noResult')}</Note>}
    </div>
  )
}
