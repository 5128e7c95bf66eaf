import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useNow, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Empty, Search, uiStyle } from '../ui/ui.tsx'
import { isRunning, Progress, State, type Task, TaskActions, TaskDetail } from './task.tsx'
import style from './tasks.module.css'

/** The tasks screen: calls that servers run as tasks, and the selected one. */
export default function Tasks({ task: id }: { task?: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const tasks = useTopic('tasks')
  const [filter, setFilter] = useState('')
  if (tasks === undefined) return null
  const all = [...tasks.values()].toReversed()
  const running = all.filter(isRunning)
  const word = filter.toLowerCase()
  const shown = [...running, ...all.filter((task) => !isRunning(task))].filter(({ server, tool, status }) =>
    `${server} ${plainText(tool)} ${status}`.toLowerCase().includes(word),
  )
  const chosen = id === undefined ? undefined : tasks.get(id)
  if (all.length === 0 && id === undefined)
    return (
      <Empty title={t('task.empty')}>
        <p>{t('task.emptyMeans')}</p>
        <p>
          <Link className={uiStyle.button ?? ''} href={routes.inspect.to()}>
            {t('task.emptyDo')}
          </Link>
        </p>
      </Empty>
    )
  return (
    <div className={screen.split} data-open={id !== undefined}>
      <section className={screen.pane} aria-label={t('nav.tasks')}>
        <Search
          label={t('task.filter')}
          value={filter}
          count={t('task.count', {
            running: number(running.length),
            ended: number(all.length - running.length),
          })}
          onChange={setFilter}
        />
        <ul className={screen.rows}>
          {shown.map((task) => (
            <TaskRow key={task.id} task={task} isCurrent={task.id === id} />
          ))}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('task.detail')}>
        {id === undefined ? (
          <p className={screen.nothing}>{t('task.choose')}</p>
        ) : chosen === undefined ? (
          <Empty title={t('task.noResult')} />
        ) : (
          <TaskDetail
            key={chosen.id}
            task={chosen}
            back={
              <Link href={routes.tasks.to()} className={screen.back ?? ''}>
                ‹ {t('nav.tasks')}
              </Link>
            }
          />
        )}
      </section>
    </div>
  )
}

function TaskRow({ task, isCurrent }: { task: Task; isCurrent: boolean }): ReactNode {
  const { age, time } = useFormat()
  const now = useNow()
  const created = plainText(task.createdAt)
  return (
    <li>
      <div
        className={`${screen.row} ${style.row}`}
        aria-current={isCurrent || undefined}
        data-task={task.status}
      >
        <Link href={routes.task.to(task.id)} className={style.name ?? ''}>
          <bdi>{task.server}</bdi> <SafeText text={task.tool} maxCharacters={80} inline />
        </Link>
        <State task={task} />
        <span className={screen.muted}>
          {isRunning(task) ? age(now - Date.parse(created)) : time(created)}
        </span>
        <Progress task={task} />
        <TaskActions task={task} />
      </div>
    </li>
  )
}
