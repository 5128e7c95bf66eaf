import type { AttachResult, Inclusion } from '@jackfield/host/browser'
import type { LibraryLeaf } from '@jackfield/host/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useAction, useHost } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, fromHost, plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Note } from '../ui/ui.tsx'
import style from './library.module.css'
import { TargetSelect, useRecentConversations } from './target-select.tsx'
import { costOf } from './tree.ts'

/** Maximum number of resources that are attached at once. */
const maxAttached = 200

/** The chosen resources, their tokens, and the conversation to attach them to. */
export function Selection({
  chosen,
  onClear,
}: {
  chosen: ReadonlyMap<string, LibraryLeaf>
  onClear: () => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { client } = useHost()
  const conversations = useRecentConversations()
  const [selectedConversation, setSelectedConversation] = useState<string>()
  const target = selectedConversation ?? conversations[0]?.id ?? ''
  const [result, setResult] = useState<{ conversation: string; attached: FromHost<AttachResult> }>()
  const [inclusion, setInclusion] = useState<{ conversation: string; included: FromHost<Inclusion> }>()
  const { tokens, unknown } = costOf(chosen.values())
  const isTooMany = chosen.size > maxAttached
  const openTarget = async (): Promise<string> =>
    target === '' ? await client.call('conversations.open', { context: false }) : target
  const attach = useAction(async () => {
    setInclusion(undefined)
    const conversation = await openTarget()
    const refs = [...chosen.values()].map(({ server, uri }) => ({ server, uri }))
    const attached = fromHost(await client.call('library.attach', { conversation, refs }))
    setResult({ conversation, attached })
    setSelectedConversation(conversation)
    onClear()
  })
  const include = useAction(async () => {
    setResult(undefined)
    const conversation = await openTarget()
    // Resources can be included only while the conversation is live.
    await client.call('conversations.open', { id: conversation, context: false })
    const included = fromHost(await client.call('library.include', { conversation }))
    setInclusion({ conversation, included })
    setSelectedConversation(conversation)
  })
  const error = attach.error ?? include.error
  const isRunning = attach.isRunning || include.isRunning
  return (
    <section className={style.selection} aria-label={t('library.chosen')}>
      <div className={style.total} role="status">
        <strong>{t('library.chosenCount', { count: chosen.size })}</strong>
        {chosen.size > 0 && (
          <span className={screen.muted}>
            {t('library.cost', { tokens: number(tokens) })}{' '}
            {unknown > 0 && t('library.unknown', { count: unknown })}
          </span>
        )}
        {chosen.size > 0 && (
          <Button small look="quiet" onClick={onClear}>
            {t('library.clear')}
          </Button>
        )}
      </div>
      {isTooMany && (
        <Note tone="warn">
          {t('library.tooMany', { most: maxAttached, over: chosen.size - maxAttached })}
        </Note>
      )}
      <div className={style.target}>
        <TargetSelect conversations={conversations} value={target} onChange={setSelectedConversation} />
        <Button
          look="primary"
          data-act="attach"
          isOff={chosen.size === 0 || isTooMany || isRunning}
          onClick={() => void attach.run()}
        >
          {t(attach.isRunning ? 'library.reading' : 'library.attach')}
        </Button>
        <Button
          data-act="include"
          isOff={isRunning}
          title={t('library.includeMeans')}
          onClick={() => void include.run()}
        >
          {t('library.include')}
        </Button>
      </div>
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && <AttachNote {...result} />}
      {inclusion !== undefined && <InclusionNote {...inclusion} />}
    </section>
  )
}

/** What was attached, and why other resources were not. */
function AttachNote({
  conversation,
  attached: { attached, failed, withheld, tokens },
}: {
  conversation: string
  attached: FromHost<AttachResult>
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  return (
    <Note tone={failed.length > 0 ? 'warn' : 'ok'} live>
      {t('library.attached', { count: attached.length, tokens: number(tokens) })}{' '}
      <Link href={routes.chat.to(conversation)}>{t('library.openConversation')}</Link>
      <ResourceReasons list={[...failed, ...withheld]} />
    </Note>
  )
}

/** What is sent automatically with the next message, and why. */
function InclusionNote({
  conversation,
  included: { included, left, tokens, budget },
}: {
  conversation: string
  included: FromHost<Inclusion>
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const reasons = included.map(({ server, uri, because }) => ({
    server,
    uri,
    reason: because ?? untrusted(''),
  }))
  return (
    <Note tone="info" live>
      {t('library.included', {
        count: included.length,
        tokens: number(tokens),
        budget: number(budget),
      })}{' '}
      <Link href={routes.chat.to(conversation)}>{t('library.openConversation')}</Link>
      <ResourceReasons list={[...reasons, ...left]} />
    </Note>
  )
}

const maxReasons = 50

/** Resources with a reason each. */
function ResourceReasons({
  list,
}: {
  list: readonly { server: string; uri: UntrustedText; reason: UntrustedText }[]
}): ReactNode {
  const t = useText()
  if (list.length === 0) return null
  return (
    <details>
      <summary>{t('library.reasons', { count: list.length })}</summary>
      <ul className={style.reasons}>
        {list.slice(0, maxReasons).map(({ server, uri, reason }) => (
          <li key={`${server} ${plainText(uri)}`}>
            {server} <SafeText text={uri} maxCharacters={120} inline />:{' '}
            <HostText text={reason} maxCharacters={200} inline />
          </li>
        ))}
      </ul>
      {list.length > maxReasons && <p>{t('library.moreReasons', { count: list.length - maxReasons })}</p>}
    </details>
  )
}
