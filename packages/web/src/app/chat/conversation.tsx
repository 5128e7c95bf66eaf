import type { ConversationRow } from '@jackfield/host/client'
import { ArrowDown, PanelRight } from 'lucide-react'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { asError, useHost, useNow, useTopic, useTopicError } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { routes } from '../routes.ts'
import { useDock } from '../shell/dock-state.ts'
import { Fixes } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plainText, untrusted } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import { Button, Note } from '../ui/ui.tsx'
import type { CallRow } from './call.tsx'
import style from './chat.module.css'
import { Composer } from './composer.tsx'
import { ConversationDialog, type ConversationDialogKind, ConversationMenu } from './conversation-dialog.tsx'
import { ModelMenu } from './model-menu.tsx'
import { Start } from './start.tsx'
import { blocksOf, Entry, type EntryRow, textOf, useEditInCopy } from './transcript.tsx'

const GrowingMarkdown = loaded(
  async () => ({ default: (await import('../text/markdown.tsx')).GrowingMarkdown }),
  SafeText,
)

type InfoRow = Extract<FromHost<ConversationRow>, { kind: 'info' }>

/** Opens the conversation at the host before its topic is followed. */
export function Opened({ id }: { id: string }): ReactNode {
  const { client } = useHost()
  const [state, setState] = useState<'opening' | 'open' | Error>('opening')
  useEffect(() => {
    let isGone = false
    client.call('conversations.open', { id }).then(
      () => isGone || setState('open'),
      (reason: unknown) => isGone || setState(asError(reason)),
    )
    return () => {
      isGone = true
    }
  }, [client, id])
  if (state === 'opening') return <div className={style.conversation} />
  if (state instanceof Error)
    return (
      <div className={style.log}>
        <Note tone="danger">
          <HostText text={untrusted(state.message)} />
        </Note>
      </div>
    )
  return <Conversation id={id} />
}

function Conversation({ id }: { id: string }): ReactNode {
  const t = useText()
  const rows = useTopic(`conversation:${id}`)
  const error = useTopicError(`conversation:${id}`)
  const inbox = useTopic('inbox')
  const edit = useEditInCopy(id)
  const scroll = useScrollToEnd(rows !== undefined)
  const [dialog, setDialog] = useState<ConversationDialogKind>()
  if (error !== undefined)
    return (
      <Note tone="danger">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (rows === undefined) return <div className={style.conversation} />
  const all = [...rows.values()]
  const info = all.find((row) => row.kind === 'info')
  const entries = all.flatMap((row) => (row.kind === 'entry' ? [row] : [])).sort((a, b) => a.place - b.place)
  const results = new Map(
    entries.flatMap(({ entry }) =>
      entry.kind === 'result' ? [[plainText(entry.result.toolUseId), entry] as const] : [],
    ),
  )
  const calls = new Map<string, CallRow>(all.flatMap((row) => (row.kind === 'call' ? [[row.id, row]] : [])))
  const queued = all.flatMap((row) => (row.kind === 'queued' ? [row] : []))
  const attached = all.find((row) => row.kind === 'attached')
  const partial = all.find((row) => row.kind === 'partial')
  const questions = [...(inbox?.values() ?? [])].filter(
    ({ state, deferred, question }) =>
      state === 'open' && deferred !== true && question.cause.conversation === id,
  )
  const isBusy = info !== undefined && info.state !== 'idle'
  const isStarted = partial !== undefined && plainText(partial.text) !== ''
  const isCalling = all.some((row) => row.kind === 'call' && row.state === 'running')
  const facts = { results, calls, waits: questions.length > 0, isBusy }
  return (
    <section className={style.conversation} aria-label={t('chat.conversation')}>
      <ConversationBar id={id} info={info} onDialog={setDialog} />
      {dialog !== undefined && info !== undefined && (
        <ConversationDialog
          id={id}
          title={plainText(info.title)}
          kind={dialog}
          onClose={() => setDialog(undefined)}
        />
      )}
      <div
        className={style.log}
        ref={scroll.viewport}
        role="log"
        aria-label={t('chat.transcript')}
        aria-busy={isBusy}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={scroll.onScroll}
      >
        <div className={style.rows} ref={scroll.content}>
          {entries.length === 0 && !isBusy && <Start conversation={id} />}
          {authored(entries, t).map(({ row, author }) => (
            <Entry key={row.place} row={row} conversation={id} author={author} facts={facts} />
          ))}
          {isStarted && (
            <div aria-live="off" className={style.partial}>
              <GrowingMarkdown text={partial.text} />
            </div>
          )}
          {isBusy && !isStarted && !isCalling && info.wait === undefined && questions.length === 0 && (
            <Thinking key={entries.length} isSummary={info.state === 'summarizing'} />
          )}
          {questions.map((row) => (
            <QuestionCard key={row.id} row={row} />
          ))}
          {info !== undefined && <TurnEnd info={info} />}
        </div>
      </div>
      {scroll.isAway && (
        <div className={style.jump}>
          <Button small onClick={scroll.toEnd}>
            <ArrowDown size={14} aria-hidden="true" /> {t('chat.toEnd')}
          </Button>
        </div>
      )}
      <Composer
        id={id}
        isNew={entries.length === 0 && !isBusy}
        isBusy={isBusy}
        queued={queued}
        attached={attached?.copies ?? noCopies}
        onDialog={setDialog}
        onEditLast={() => {
          const last = entries.findLast(
            ({ entry }) => entry.kind === 'message' && entry.by === 'person' && entry.attached === undefined,
          )
          if (last !== undefined) void edit(last.place, textOf(blocksOf(last)))
        }}
      />
    </section>
  )
}

const noCopies: readonly never[] = []

/** Adds to each message the author to show above it, if it differs from that of the message before. */
function authored(
  entries: readonly EntryRow[],
  t: ReturnType<typeof useText>,
): { row: EntryRow; author: string | undefined }[] {
  let model: string | undefined
  let before: string | undefined
  return entries.flatMap((row) => {
    const { entry } = row
    if (entry.kind === 'turn') model = entry.model
    if (entry.kind !== 'message' && entry.kind !== 'summary') return []
    const by = entry.kind === 'message' ? entry.by : 'host'
    const author = by === 'model' ? (model ?? t('by.model')) : t(`by.${by}`)
    const isNew = author !== before
    before = author
    return [{ row, author: isNew ? author : undefined }]
  })
}

/** Keeps growing content scrolled to its end unless the user has scrolled up. */
function useScrollToEnd(isOpen: boolean): {
  viewport: React.RefObject<HTMLDivElement | null>
  content: React.RefObject<HTMLDivElement | null>
  isAway: boolean
  onScroll(event: React.UIEvent<HTMLElement>): void
  toEnd(): void
} {
  const viewport = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const lastScrollTop = useRef(0)
  const [isAway, setAway] = useState(false)
  useLayoutEffect(() => {
    const [outer, inner] = [viewport.current, content.current]
    if (!isOpen || outer === null || inner === null) return
    // Rows also grow after they are shown, such as a question whose parts are loading.
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) outer.scrollTop = outer.scrollHeight
    })
    observer.observe(inner)
    observer.observe(outer)
    return () => observer.disconnect()
  }, [isOpen])
  return {
    viewport,
    content,
    isAway,
    onScroll({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) {
      // Growing rows move the end, so only scrolling up counts as leaving it.
      const isScrolledUp = scrollTop < lastScrollTop.current
      lastScrollTop.current = scrollTop
      if (scrollHeight - scrollTop - clientHeight < 40) isAtEnd.current = true
      else if (isScrolledUp) isAtEnd.current = false
      setAway(!isAtEnd.current)
    },
    toEnd() {
      isAtEnd.current = true
      setAway(false)
      if (viewport.current !== null) viewport.current.scrollTop = viewport.current.scrollHeight
    },
  }
}

function ConversationBar({
  id,
  info,
  onDialog,
}: {
  id: string
  info: InfoRow | undefined
  onDialog: (dialog: ConversationDialogKind) => void
}): ReactNode {
  const t = useText()
  const dock = useDock()
  const isContext = dock.isOpen && dock.tab === 'context'
  return (
    <div className={style.bar}>
      <Link href={routes.chats.to()} className={style.back ?? ''}>
        ‹ {t('chat.list')}
      </Link>
      <h2 className={style.name}>
        {info === undefined || plainText(info.title) === '' ? (
          t('chat.untitled')
        ) : (
          <SafeText text={info.title} maxCharacters={100} inline />
        )}
      </h2>
      <span className={style.model}>{info !== undefined && <ModelMenu id={id} info={info} />}</span>
      <Button
        small
        look="quiet"
        aria-label={t('dock.context')}
        aria-expanded={isContext}
        aria-controls="dock"
        onClick={() => dock.toggle('context')}
        data-act="context"
      >
        <PanelRight size={16} aria-hidden="true" /> <span className={style.wide}>{t('dock.context')}</span>
      </Button>
      {info !== undefined && <ConversationMenu id={id} onDialog={onDialog} />}
    </div>
  )
}

/** Shown while the model has not begun to answer. */
function Thinking({ isSummary }: { isSummary: boolean }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const [since] = useState(() => Date.now())
  const seconds = Math.max(0, Math.floor((useNow() - since) / 1_000))
  return (
    <p className={style.thinking} aria-live="off">
      <span className={style.dots} aria-hidden="true" />
      {t(isSummary ? 'chat.summarizing' : 'chat.thinking')} {seconds > 1 && duration(seconds * 1_000)}
    </p>
  )
}

/** Why the last turn ended early: waiting, an error, or calls that did not run. */
function TurnEnd({ info }: { info: InfoRow }): ReactNode {
  const t = useText()
  return (
    <>
      {info.wait !== undefined && (
        <Note tone="warn">
          <HostText text={info.wait.reason} />
        </Note>
      )}
      {info.fault !== undefined && (
        <Note tone={info.fault.code === 'CANCELLED' ? 'info' : 'danger'} live>
          <HostText text={info.fault.message} />
          {info.fault.fixes !== undefined && <Fixes fixes={info.fault.fixes} />}
        </Note>
      )}
      {info.callsNotRun !== undefined && info.callsNotRun > 0 && (
        <Note tone="warn">{t('chat.callsNotRun', { count: info.callsNotRun })}</Note>
      )}
    </>
  )
}
