import type { ConversationFacts } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { SafeText } from '../text/safe-text.tsx'
import { type FromHost, plainText } from '../text/untrusted-text.ts'
import { Search } from '../ui/ui.tsx'
import style from './chat.module.css'
import { ConversationDialog, type ConversationDialogKind, ConversationMenu } from './conversation-dialog.tsx'

type Facts = FromHost<ConversationFacts>

const dayMs = 86_400_000

/** Groups conversations by their last message: today, in the last week, earlier. */
function grouped(all: readonly Facts[]): [group: 'today' | 'week' | 'before', rows: Facts[]][] {
  const midnight = new Date().setHours(0, 0, 0, 0)
  const groups = Map.groupBy(all, ({ lastAt }) => {
    const lastMs = Date.parse(lastAt)
    return lastMs >= midnight ? 'today' : lastMs >= midnight - 6 * dayMs ? 'week' : 'before'
  })
  return [...groups]
}

/** The list of conversations, most recent first, with search and a menu for each. */
export function ConversationList({ here }: { here: string | undefined }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const conversations = useTopic('conversations')
  const inbox = useTopic('inbox')
  const [search, setSearch] = useState('')
  const word = search.trim().toLowerCase()
  const all = [...(conversations?.values() ?? [])].sort((a, b) => (a.lastAt < b.lastAt ? 1 : -1))
  const shown = all.filter(({ title }) => plainText(title).toLowerCase().includes(word))
  const waiting = Map.groupBy(
    [...(inbox?.values() ?? [])].filter(({ state }) => state === 'open'),
    ({ question }) => question.cause.conversation,
  )
  return (
    <>
      {all.length > 5 && (
        <Search
          label={t('chat.search')}
          value={search}
          count={word === '' ? undefined : number(shown.length)}
          onChange={setSearch}
        />
      )}
      {conversations !== undefined && all.length === 0 && <p className={style.quiet}>{t('chat.noneYet')}</p>}
      {word !== '' && shown.length === 0 && <p className={style.quiet}>{t('chat.noneFits')}</p>}
      {grouped(shown).map(([group, rows]) => (
        <section key={group} aria-label={t(`chat.${group}`)}>
          <h2 className={style.group}>{t(`chat.${group}`)}</h2>
          <ul>
            {rows.map((facts) => (
              <Row
                key={facts.id}
                facts={facts}
                isCurrent={facts.id === here}
                waits={waiting.get(facts.id)?.length ?? 0}
              />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

function Row({ facts, isCurrent, waits }: { facts: Facts; isCurrent: boolean; waits: number }): ReactNode {
  const t = useText()
  const { dateTime, clock } = useFormat()
  const [dialog, setDialog] = useState<ConversationDialogKind>()
  const isToday = Date.parse(facts.lastAt) >= new Date().setHours(0, 0, 0, 0)
  return (
    <li className={style.listed} data-here={isCurrent}>
      <Link href={routes.chat.to(facts.id)} aria-current={isCurrent || undefined}>
        <span className={style.cut}>
          {plainText(facts.title) === '' ? (
            t('chat.untitled')
          ) : (
            <SafeText text={facts.title} maxCharacters={80} inline />
          )}
        </span>
        <small title={dateTime(facts.lastAt)}>
          {isToday ? clock(facts.lastAt) : dateTime(facts.lastAt)}
          {facts.fork !== undefined && ` · ${t('chat.isFork')}`}
          {waits > 0 && <strong> · {t('nav.waiting', { count: waits })}</strong>}
        </small>
      </Link>
      <ConversationMenu id={facts.id} onDialog={setDialog} />
      {dialog !== undefined && (
        <ConversationDialog
          id={facts.id}
          title={plainText(facts.title)}
          kind={dialog}
          onClose={() => setDialog(undefined)}
        />
      )}
    </li>
  )
}
