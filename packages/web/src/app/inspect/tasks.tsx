import type { BrokeredCall } from '@jackfield/host/browser'
import { type ReactNode, useCallback, useState } from 'react'
import { Link } from 'wouter'
import { useAct, useHost, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Foreign, JsonTree } from '../text/foreign.tsx'
import { plainText } from '../text/foreign-type.ts'
import { Button, Empty } from '../ui/ui.tsx'
import { Contents } from './contents.tsx'
import style from './inspect.module.css'

const isOver = (status: string): boolean => ['completed', 'failed', 'cancelled', 'lost'].includes(status)

/** A call that its server runs as a task: how far it is, and what it gave. */
export function TaskPage({ server, id }: { server: string; id: string }): ReactNode {
  const t = useText()
  const { dateTime, number } = useFormat()
  const { client } = useHost()
  const task = useTopic('tasks')?.get(id)
  const [result, setResult] = useState<BrokeredCall>()
  const cancel = useAct(useCallback(() => client.call('tasks.cancel', { id }), [client, id]))
  const get = useAct(
    useCallback(async () => setResult(await client.call('tasks.result', { id })), [client, id]),
  )
  if (task === undefined) return <Empty title={t('inspect.noTask')} />
  const error = cancel.error ?? get.error
  return (
    <div className={style.serverPage}>
      <div className={style.card}>
        <Link href={routes.inspectKind.to(server, 'tasks')} className={style.back ?? ''}>
          ‹ <bdi>{server}</bdi>
        </Link>
        <h2>
          <Foreign text={task.tool} inline />
        </h2>
        <dl className={style.facts}>
          <dt>{t('activity.outcome')}</dt>
          <dd role="status">
            {t(`task.${task.status}`)}{' '}
            {task.message !== undefined && <Foreign text={task.message} most={400} />}
          </dd>
          <dt>{t('activity.at')}</dt>
          <dd>{dateTime(plainText(task.createdAt))}</dd>
          <dt>ID</dt>
          <dd>
            <Foreign text={task.taskId} inline />
          </dd>
          <dt>{t('activity.detail')}</dt>
          <dd>
            <Link href={routes.activity.to(task.activity)}>{t('card.activity', { id: task.activity })}</Link>
          </dd>
        </dl>
        {task.progress !== undefined && !isOver(task.status) && (
          <span className={style.progress}>
            <progress
              value={task.progress.progress}
              max={task.progress.total}
              aria-label={t('inspect.progress')}
            />
            <span>{number(task.progress.progress)}</span>
          </span>
        )}
        <JsonTree value={task.arguments} label={t('call.arguments')} />
        <div className={style.bar}>
          {isOver(task.status) ? (
            <Button small isOff={get.isRunning} onClick={() => void get.run()}>
              {t('inspect.result')}
            </Button>
          ) : (
            <Button small isOff={cancel.isRunning} onClick={() => void cancel.run()}>
              {t('task.cancel')}
            </Button>
          )}
        </div>
        {error !== undefined && <ErrorNote error={error} />}
        {result !== undefined && (
          <Contents blocks={result.result.content} server={server} label={t('inspect.result')} />
        )}
      </div>
    </div>
  )
}
