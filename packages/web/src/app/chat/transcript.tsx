import type { ConversationRow } from '@jackfield/host/client'
import { Copy, FileText, Pencil } from 'lucide-react'
import { memo, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useHost } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Blocks, isTextBlock } from '../text/blocks.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import { Button } from '../ui/ui.tsx'
import { Call, type CallRow, isToolUse } from './call.tsx'
import style from './chat.module.css'

const Markdown = loaded(() => import('../text/markdown.tsx'), SafeText)

type Row = FromHost<ConversationRow>
export type EntryRow = Extract<Row, { kind: 'entry' }>

/** Characters of a text of the user or of an attached resource that are shown until it is expanded. */
const maxSaid = 600

/** Data for the calls of a message that is not part of the message. */
export interface CallFacts {
  readonly results: ReadonlyMap<string, unknown>
  readonly calls: ReadonlyMap<string, CallRow>
  /** Whether a question of the conversation is open; calls that are not sent yet wait for it. */
  readonly waits: boolean
  readonly isBusy: boolean
}

/** An entry that is finished; it renders again only when its row or one of its calls changes. */
export const Entry = memo(
  function Entry({
    row,
    conversation,
    author,
    facts,
  }: {
    row: EntryRow
    conversation: string
    /** The author to show above it; absent if it is that of the message before. */
    author: string | undefined
    facts: CallFacts
  }): ReactNode {
    const t = useText()
    const { entry, place } = row
    if (entry.kind === 'summary')
      return (
        <details className={style.summary}>
          <summary>{t('chat.summary')}</summary>
          <div>
            <SafeText text={entry.text} />
          </div>
        </details>
      )
    if (entry.kind !== 'message') return null
    const blocks = blocksOf(row)
    if (entry.attached !== undefined)
      return (
        <article className={style.entry} data-by={entry.by} data-attached>
          {author !== undefined && <h3 className={style.who}>{author}</h3>}
          <AttachedEntry attached={entry.attached} by={entry.by}>
            {blocks.map((block, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
              <Block key={n} block={block} by={entry.by} conversation={conversation} facts={facts} />
            ))}
          </AttachedEntry>
        </article>
      )
    return (
      <article className={style.entry} data-by={entry.by}>
        {author !== undefined && <h3 className={style.who}>{author}</h3>}
        {blocks.map((block, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
          <Block key={n} block={block} by={entry.by} conversation={conversation} facts={facts} />
        ))}
        {entry.by === 'person' && (
          <MessageActions conversation={conversation} place={place} blocks={blocks} />
        )}
        {entry.by === 'model' && blocks.every(isTextBlock) && (
          <div className={style.acts}>
            <CopyText blocks={blocks} />
          </div>
        )}
      </article>
    )
  },
  (before, after) => {
    if (
      before.row !== after.row ||
      before.conversation !== after.conversation ||
      before.author !== after.author
    )
      return false
    const [was, is] = [before.facts, after.facts]
    return callsOf(after.row).every(
      (id) =>
        was.results.get(id) === is.results.get(id) &&
        was.calls.get(id) === is.calls.get(id) &&
        (was.waits === is.waits || is.calls.get(id)?.state !== 'running') &&
        (was.isBusy === is.isBusy || is.results.has(id)),
    )
  },
)

/** A resource that was sent to the model: its title, size, and who attached it and why. Its content can be expanded. */
function AttachedEntry({
  attached: { server, uri, title, tokens, because },
  by,
  children,
}: {
  attached: NonNullable<Extract<EntryRow['entry'], { kind: 'message' }>['attached']>
  by: 'person' | 'model' | 'host'
  children: ReactNode
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  return (
    <details className={style.attachment}>
      <summary>
        <FileText size={16} strokeWidth={1.5} aria-hidden="true" />
        <span className={style.attachedTitle}>
          <SafeText text={title} maxCharacters={80} inline />
        </span>
        <small>
          {server} · {t('library.tokens', { count: compact(tokens) })}
        </small>
        <small className={style.attachedWhy}>
          {because === undefined ? (
            t(by === 'host' ? 'chat.attachedByHost' : 'chat.attachedByYou')
          ) : (
            <>
              {t('chat.attachedByHost')}: <HostText text={because} maxCharacters={160} inline />
            </>
          )}
        </small>
      </summary>
      <div className={style.attachedContent}>
        <Link href={routes.resource.to(server, plainText(uri))}>
          <SafeText text={uri} maxCharacters={200} inline />
        </Link>
        {children}
      </div>
    </details>
  )
}

function CopyText({ blocks }: { blocks: readonly unknown[] }): ReactNode {
  const t = useText()
  return (
    <Button
      small
      look="quiet"
      aria-label={t('chat.copy')}
      title={t('chat.copy')}
      onClick={() => void navigator.clipboard.writeText(textOf(blocks)).catch(() => {})}
    >
      <Copy size={14} aria-hidden="true" />
    </Button>
  )
}

function MessageActions({
  conversation,
  place,
  blocks,
}: {
  conversation: string
  place: number
  blocks: readonly unknown[]
}): ReactNode {
  const t = useText()
  const edit = useEditInCopy(conversation)
  return (
    <div className={style.acts}>
      <CopyText blocks={blocks} />
      <Button small look="quiet" aria-label={t('chat.fork')} onClick={() => edit(place, textOf(blocks))}>
        <Pencil size={14} aria-hidden="true" /> {t('chat.edit')}
      </Button>
    </div>
  )
}

/** Forks the conversation before a message of the user and opens the fork with the message in its composer. */
export function useEditInCopy(conversation: string): (place: number, text: string) => Promise<void> {
  const { client } = useHost()
  const [, navigate] = useLocation()
  return async (place, text) => {
    const fork = await client.call('conversations.fork', { id: conversation, place })
    sessionStorage.setItem(`jackfield.draft.${fork}.composer`, JSON.stringify(text))
    navigate(routes.chat.to(fork))
  }
}

function Block({
  block,
  by,
  conversation,
  facts,
}: {
  block: unknown
  by: 'person' | 'model' | 'host'
  conversation: string
  facts: CallFacts
}): ReactNode {
  const t = useText()
  if (isTextBlock(block)) {
    if (by !== 'model')
      return (
        <div className={style.said}>
          <SafeText text={untrusted(block.text)} maxCharacters={maxSaid} />
        </div>
      )
    return <Markdown text={untrusted(block.text)} />
  }
  if (isToolUse(block))
    return (
      <Call
        conversation={conversation}
        use={block}
        call={facts.calls.get(block.id)}
        result={facts.results.get(block.id)}
        waits={facts.waits}
        isBusy={facts.isBusy}
      />
    )
  return <Blocks content={block} label={t(`by.${by}`)} />
}

export function blocksOf({ entry }: EntryRow): readonly unknown[] {
  if (entry.kind !== 'message') return []
  const { content } = plain<{ content: unknown }>(entry.message)
  return Array.isArray(content) ? content : [content]
}

export function textOf(blocks: readonly unknown[]): string {
  return blocks.flatMap((block) => (isTextBlock(block) ? [block.text] : [])).join('\n')
}

function callsOf(row: EntryRow): string[] {
  return blocksOf(row).flatMap((block) => (isToolUse(block) ? [block.id] : []))
}
