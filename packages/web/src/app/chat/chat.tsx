import type { ConversationRow } from '@jackfield/host/client'
import { Check, CircleX, Clock, LoaderCircle, Square } from 'lucide-react'
import {
  lazy,
  memo,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Link, useLocation, useRoute } from 'wouter'
import { CallApp } from '../apps/call-app.tsx'
import { useAct, useHost, useRead, useTopic, useTopicError } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { isText, useDraft } from '../questions/answer.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { Blocks } from '../questions/sampling.tsx'
import { routes } from '../routes.ts'
import { ExactJson, Foreign } from '../text/foreign.tsx'
import { foreign, plain, plainText, type Wire } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Button, Empty, Note, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'
import { replaceWord, useSuggestions, wordAt } from './suggestions.ts'

const Markdown = lazy(() => import('../text/markdown.tsx'))

type Row = Wire<ConversationRow>
type RowOf<K extends Row['kind']> = Extract<Row, { kind: K }>

/** Conversations, and the one that is open. */
export default function Chat({ conversation }: { conversation?: string }): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { client } = useHost()
  const [, navigate] = useLocation()
  const conversations = useTopic('conversations')
  const begin = useAct(
    useCallback(async () => {
      const id = await client.call('conversations.open', {})
      navigate(routes.chat.to(id))
    }, [client, navigate]),
  )
  return (
    <div className={style.chat} data-open={conversation !== undefined}>
      <section className={style.list} aria-label={t('chat.list')}>
        <Button look="primary" isOff={begin.isRunning} onClick={() => begin.run()}>
          {t('chat.new')}
        </Button>
        {begin.error !== undefined && (
          <Note tone="danger" live>
            <Foreign text={foreign(begin.error.message)} />
          </Note>
        )}
        <ul className={screen.rows}>
          {[...(conversations?.values() ?? [])].map((facts) => (
            <li key={facts.id}>
              <Link
                href={routes.chat.to(facts.id)}
                className={screen.row ?? ''}
                aria-current={facts.id === conversation || undefined}
              >
                <span className={screen.grow}>
                  <Foreign text={facts.title} most={80} inline />
                  <div className={screen.muted}>{dateTime(facts.lastAt)}</div>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </section>
      {conversation === undefined ? (
        <div className={style.none}>
          <Empty title={t('chat.empty')}>
            <p>{t('chat.emptyMeans')}</p>
          </Empty>
        </div>
      ) : (
        <Opened id={conversation} />
      )}
    </div>
  )
}

/** Opens the conversation at the host before its topic is followed. */
function Opened({ id }: { id: string }): ReactNode {
  const { client } = useHost()
  const [state, setState] = useState<'opening' | 'open' | Error>('opening')
  useEffect(() => {
    let isGone = false
    client.call('conversations.open', { id }).then(
      () => isGone || setState('open'),
      (reason: unknown) => isGone || setState(reason instanceof Error ? reason : new Error(String(reason))),
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
          <Foreign text={foreign(state.message)} />
        </Note>
      </div>
    )
  return <Conversation id={id} />
}

function Conversation({ id }: { id: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { client } = useHost()
  const rows = useTopic(`conversation:${id}`)
  const error = useTopicError(`conversation:${id}`)
  const inbox = useTopic('inbox')
  const models = useRead('models.list', {}).data
  const log = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const scrolled = useRef(0)
  const content = useRef<HTMLDivElement>(null)
  const isOpen = rows !== undefined
  // The view follows only a reader who is at the end. Rows also grow after they are shown: a question waits for its parts.
  useLayoutEffect(() => {
    const [around, inside] = [log.current, content.current]
    if (!isOpen || around === null || inside === null) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) around.scrollTop = around.scrollHeight
    })
    observer.observe(inside)
    observer.observe(around)
    return () => observer.disconnect()
  }, [isOpen])
  if (error !== undefined) return <Note tone="danger">{<Foreign text={foreign(error.message)} />}</Note>
  if (rows === undefined) return <div className={style.conversation} />
  const all = [...rows.entries()]
  const info = all.map(([, row]) => row).find((row) => row.kind === 'info')
  const entries = all
    .flatMap(([key, row]) => (row.kind === 'entry' ? [{ key, row }] : []))
    .sort((a, b) => a.row.place - b.row.place)
  const results = new Map(
    entries.flatMap(({ row: { entry } }) =>
      entry.kind === 'result' ? [[plainText(entry.result.toolUseId), entry] as const] : [],
    ),
  )
  const calls = new Map(all.flatMap(([, row]) => (row.kind === 'call' ? [[row.id, row] as const] : [])))
  const queued = all.flatMap(([, row]) => (row.kind === 'queued' ? [row] : []))
  const partial = all.map(([, row]) => row).find((row) => row.kind === 'partial')
  const questions = [...(inbox?.values() ?? [])].filter(
    ({ state, question }) => state === 'open' && question.cause.conversation === id,
  )
  const isBusy = info !== undefined && info.state !== 'idle'
  return (
    <section className={style.conversation} aria-label={t('chat.conversation')}>
      <div className={style.bar}>
        <Link href={routes.chats.to()} className={screen.back ?? ''}>
          ‹ {t('nav.chat')}
        </Link>
        <strong>{info !== undefined && <Foreign text={info.title} most={100} inline />}</strong>
        <label>
          <span className="hidden-text">{t('chat.model')}</span>
          <select
            className={uiStyle.input}
            value={info?.model ?? ''}
            onChange={({ target }) => void client.call('conversations.setModel', { id, model: target.value })}
          >
            {models?.map((model) => (
              <option key={model.id} value={model.id}>
                {model.id}
              </option>
            ))}
            {models?.every((model) => model.id !== info?.model) && <option>{info?.model}</option>}
          </select>
        </label>
        {info?.contextTokens !== undefined && (
          <span>{t('chat.context', { tokens: number(info.contextTokens) })}</span>
        )}
      </div>
      <div
        className={style.log}
        ref={log}
        role="log"
        aria-label={t('chat.transcript')}
        aria-busy={isBusy}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          // Rows that grow move the end away; only a reader who scrolls up leaves it.
          const isUp = scrollTop < scrolled.current
          scrolled.current = scrollTop
          if (scrollHeight - scrollTop - clientHeight < 40) isAtEnd.current = true
          else if (isUp) isAtEnd.current = false
        }}
      >
        <div className={style.rows} ref={content}>
          {entries.length === 0 && <Empty title={t('chat.begin')} />}
          {entries.map(({ key, row }) => (
            <Entry
              key={key}
              row={row}
              conversation={id}
              results={row.entry.kind === 'message' && row.entry.by === 'model' ? results : noResults}
              calls={calls}
            />
          ))}
          {partial !== undefined && plainText(partial.text) !== '' && (
            <div aria-live="off">
              <Suspense fallback={<Foreign text={partial.text} />}>
                <Markdown text={partial.text} />
              </Suspense>
            </div>
          )}
          {questions.map((row) => (
            <QuestionCard key={row.id} row={row} />
          ))}
          {info?.wait !== undefined && (
            <Note tone="warn">
              <Foreign text={info.wait.why} />
            </Note>
          )}
          {info?.fault !== undefined && (
            <Note tone="danger" live>
              <Foreign text={info.fault.message} />
            </Note>
          )}
        </div>
      </div>
      <Composer id={id} isBusy={isBusy} queued={queued} />
    </section>
  )
}

const noResults: ReadonlyMap<string, unknown> = new Map()

/** An entry that is finished; it renders again only when its row or one of its calls changes. */
const Entry = memo(
  function Entry({
    row,
    conversation,
    results,
    calls,
  }: {
    row: RowOf<'entry'>
    conversation: string
    results: ReadonlyMap<string, unknown>
    calls: ReadonlyMap<string, RowOf<'call'>>
  }): ReactNode {
    const t = useText()
    const { client } = useHost()
    const [, navigate] = useLocation()
    const { entry, place } = row
    if (entry.kind === 'summary')
      return (
        <details className={style.call}>
          <summary>{t('chat.summary')}</summary>
          <div>
            <Foreign text={entry.text} />
          </div>
        </details>
      )
    if (entry.kind !== 'message') return null
    const message = plain<{ role: 'user' | 'assistant'; content: unknown }>(entry.message)
    const blocks: readonly unknown[] = Array.isArray(message.content) ? message.content : [message.content]
    return (
      <div className={style.entry}>
        <div className={style.who}>
          {t(`by.${entry.by}`)}
          {entry.by === 'person' && (
            <Button
              small
              look="quiet"
              onClick={async () => {
                const fork = await client.call('conversations.fork', { id: conversation, place })
                sessionStorage.setItem(`jackfield.draft.${fork}.composer`, JSON.stringify(textOf(blocks)))
                navigate(routes.chat.to(fork))
              }}
            >
              {t('chat.fork')}
            </Button>
          )}
        </div>
        {blocks.map((block, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
          <Block key={n} block={block} by={entry.by} results={results} calls={calls} />
        ))}
      </div>
    )
  },
  (before, after) => {
    if (before.row !== after.row || before.conversation !== after.conversation) return false
    return callsOf(after.row).every(
      (id) =>
        before.results.get(id) === after.results.get(id) && before.calls.get(id) === after.calls.get(id),
    )
  },
)

function callsOf({ entry }: RowOf<'entry'>): string[] {
  if (entry.kind !== 'message') return []
  const { content } = plain<{ content: unknown }>(entry.message)
  return (Array.isArray(content) ? content : [content]).flatMap((block) =>
    isToolUse(block) ? [block.id] : [],
  )
}

interface ToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

function isToolUse(block: unknown): block is ToolUse {
  return (
    typeof block === 'object' &&
    block !== null &&
    'type' in block &&
    block.type === 'tool_use' &&
    'id' in block
  )
}

function isTextBlock(block: unknown): block is { text: string } {
  return (
    typeof block === 'object' &&
    block !== null &&
    'type' in block &&
    block.type === 'text' &&
    'text' in block &&
    typeof block.text === 'string'
  )
}

function textOf(blocks: readonly unknown[]): string {
  return blocks.flatMap((block) => (isTextBlock(block) ? [block.text] : [])).join('\n')
}

function Block({
  block,
  by,
  results,
  calls,
}: {
  block: unknown
  by: 'person' | 'model' | 'host'
  results: ReadonlyMap<string, unknown>
  calls: ReadonlyMap<string, RowOf<'call'>>
}): ReactNode {
  const t = useText()
  if (isTextBlock(block)) {
    if (by !== 'model')
      return (
        <div className={by === 'person' ? style.person : screen.muted}>
          <Foreign text={foreign(block.text)} />
        </div>
      )
    return (
      <Suspense fallback={<Foreign text={foreign(block.text)} />}>
        <Markdown text={foreign(block.text)} />
      </Suspense>
    )
  }
  if (isToolUse(block)) return <Call use={block} call={calls.get(block.id)} result={results.get(block.id)} />
  return <Blocks content={block} label={t(`by.${by}`)} />
}

function Call({
  use,
  call,
  result,
}: {
  use: ToolUse
  call: RowOf<'call'> | undefined
  result: unknown
}): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const [isOpen, setOpen] = useState(false)
  const [, here] = useRoute(routes.chat.path)
  const isRunning = result === undefined && call?.state !== 'later'
  const failed = call?.isError === true || call?.denied === true || isErrorResult(result)
  const Icon = isRunning ? LoaderCircle : call?.state === 'later' ? Clock : failed ? CircleX : Check
  return (
    <>
      <details className={style.call} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon
            size={16}
            strokeWidth={1.5}
            className={failed ? uiStyle.danger : uiStyle.ok}
            aria-label={t(
              isRunning
                ? 'call.running'
                : failed
                  ? call?.denied === true
                    ? 'call.denied'
                    : 'call.failed'
                  : call?.state === 'later'
                    ? 'call.later'
                    : 'call.done',
            )}
          />
          <strong>
            <Foreign text={foreign(use.name)} most={80} inline />
          </strong>
          <span className={screen.muted}>
            <Foreign text={foreign(JSON.stringify(use.input))} most={120} inline />
          </span>
          {call?.durationMs !== undefined && (
            <span className={screen.muted}>{duration(call.durationMs)}</span>
          )}
        </summary>
        {isOpen && (
          <div>
            <ExactJson value={use.input} label={t('call.arguments')} />
            {result !== undefined && <Blocks content={contentOf(result)} label={t('call.result')} />}
            {call?.activity !== undefined && (
              <Link href={routes.activity.to(call.activity)}>
                {t('card.activity', { id: call.activity })}
              </Link>
            )}
          </div>
        )}
      </details>
      <CallApp
        name={use.name}
        input={use.input}
        result={call?.result ?? resultIn(result)}
        cancelled={call?.denied === true ? t('call.denied') : undefined}
        conversation={here?.conversation}
        activity={call?.activity}
        isNew={call !== undefined}
      />
    </>
  )
}

function resultIn(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'result' in entry ? entry.result : undefined
}

function isErrorResult(entry: unknown): boolean {
  return (
    typeof entry === 'object' &&
    entry !== null &&
    'result' in entry &&
    typeof entry.result === 'object' &&
    entry.result !== null &&
    'isError' in entry.result &&
    entry.result.isError === true
  )
}

function contentOf(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || !('result' in entry)) return entry
  const { result } = entry
  return typeof result === 'object' && result !== null && 'content' in result ? result.content : result
}

/** What is said next. It shares no state with the transcript. */
function Composer({
  id,
  isBusy,
  queued,
}: {
  id: string
  isBusy: boolean
  queued: readonly RowOf<'queued'>[]
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [text, setText, forget] = useDraft(`${id}.composer`, '', isText)
  const [caret, setCaret] = useState(0)
  const [at, setAt] = useState(0)
  const [isClosed, setClosed] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  const [error, setError] = useState<Error>()
  const word = isClosed ? undefined : wordAt(text, caret)
  const suggestions = useSuggestions(word)
  const send = (): void => {
    if (text.trim() === '') return
    if (client.state.state !== 'connected') {
      setError(new Error(t('card.offline')))
      return
    }
    const said = text
    setError(undefined)
    setText('')
    forget()
    client.call('conversations.say', { id, said: { text: said } }).catch((reason: unknown) => {
      setError(reason instanceof Error ? reason : new Error(String(reason)))
    })
  }
  const choose = (n: number): void => {
    const suggestion = suggestions[n]
    if (word === undefined || suggestion === undefined) return
    if (suggestion.attach !== undefined)
      client
        .call('library.attach', { conversation: id, refs: [suggestion.attach] })
        .catch((reason: unknown) => setError(reason instanceof Error ? reason : new Error(String(reason))))
    const next = replaceWord(text, word, suggestion.insert)
    setText(next.text)
    setAt(0)
    requestAnimationFrame(() => area.current?.setSelectionRange(next.caret, next.caret))
  }
  return (
    <div className={style.composer}>
      {queued.map(({ id: message, said }) => (
        <div key={message} className={style.queued}>
          {t('chat.queued')} {said.text !== undefined && <Foreign text={said.text} most={120} inline />}
          <Button
            small
            look="quiet"
            onClick={() => void client.call('conversations.unqueue', { id, message })}
          >
            {t('chat.unqueue')}
          </Button>
        </div>
      ))}
      {error !== undefined && (
        <Note tone="danger" live>
          <Foreign text={foreign(error.message)} />
        </Note>
      )}
      {suggestions.length > 0 && (
        <div className={style.suggestions} role="listbox" id="suggestions" aria-label={t('chat.suggestions')}>
          {suggestions.map((suggestion, n) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the composer has the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the composer keeps the focus
            <div
              key={suggestion.key}
              id={`suggestion-${n}`}
              role="option"
              aria-selected={n === at}
              className={style.suggestion}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(n)}
            >
              <Foreign text={suggestion.name} most={100} inline />
              <small>{suggestion.server}</small>
            </div>
          ))}
        </div>
      )}
      <textarea
        ref={area}
        className={uiStyle.input}
        rows={1}
        aria-label={t('chat.say')}
        placeholder={t('chat.placeholder')}
        value={text}
        aria-controls={suggestions.length > 0 ? 'suggestions' : undefined}
        aria-activedescendant={suggestions.length > 0 ? `suggestion-${at}` : undefined}
        aria-autocomplete="list"
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
        onChange={({ target }) => {
          setText(target.value)
          setCaret(target.selectionStart)
          setClosed(false)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (suggestions.length > 0 && step !== undefined) {
            event.preventDefault()
            setAt((at + step + suggestions.length) % suggestions.length)
          } else if (suggestions.length > 0 && (event.key === 'Tab' || event.key === 'Enter')) {
            event.preventDefault()
            choose(at)
          } else if (event.key === 'Escape') setClosed(true)
          else if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault()
            send()
          } else if (event.key === '.' && (event.ctrlKey || event.metaKey))
            void client.call('conversations.stop', { id })
        }}
      />
      <div className={style.actions}>
        <span className={style.hints}>{t('chat.hints')}</span>
        {isBusy && (
          <Button small onClick={() => void client.call('conversations.stop', { id })}>
            <Square size={14} aria-hidden="true" /> {t('chat.stop')}
          </Button>
        )}
        <Button small look="primary" isOff={text.trim() === ''} onClick={send}>
          {t(isBusy ? 'chat.queue' : 'chat.send')}
        </Button>
      </div>
    </div>
  )
}
