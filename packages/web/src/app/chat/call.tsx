import type { ConversationRow } from '@jackfield/host/client'
import {
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CircleSlash,
  CircleX,
  Clock,
  Hand,
  LoaderCircle,
  Square,
} from 'lucide-react'
import { type ReactNode, useCallback, useState } from 'react'
import { Link } from 'wouter'
import { CallApp } from '../apps/call-app.tsx'
import { useAction, useHost, useNow, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Blocks, isTextBlock } from '../text/blocks.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { briefly } from '../text/pieces.ts'
import { ExactJson, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { Tokens } from '../text/tokens.tsx'
import { type FromHost, plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import { Button, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'

export type CallRow = Extract<FromHost<ConversationRow>, { kind: 'call' }>

/** A tool call in a message of the model. */
export interface ToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export function isToolUse(block: unknown): block is ToolUse {
  return (
    typeof block === 'object' &&
    block !== null &&
    'type' in block &&
    block.type === 'tool_use' &&
    'id' in block
  )
}

type State = 'next' | 'asked' | 'running' | 'later' | 'denied' | 'cancelled' | 'failed' | 'lost' | 'done'

const icons = {
  next: { Icon: CircleDashed, tone: 'off' },
  lost: { Icon: CircleMinus, tone: 'warn' },
  asked: { Icon: Hand, tone: 'warn' },
  running: { Icon: LoaderCircle, tone: 'info' },
  later: { Icon: Clock, tone: 'warn' },
  denied: { Icon: CircleX, tone: 'danger' },
  cancelled: { Icon: CircleSlash, tone: 'off' },
  failed: { Icon: CircleAlert, tone: 'danger' },
  done: { Icon: CircleCheck, tone: 'ok' },
} as const

/** The state of a call. Calls of a message run one after another; calls of an earlier process have no row. */
function stateOf(call: CallRow | undefined, result: unknown, waits: boolean, isBusy: boolean): State {
  if (call?.denied === true) return 'denied'
  if (call?.cancelled === true) return 'cancelled'
  if (call?.isError === true || isErrorResult(result)) return 'failed'
  if (call?.state === 'later') return 'later'
  if (result !== undefined || call?.state === 'done') return 'done'
  if (call !== undefined) return waits ? 'asked' : 'running'
  return isBusy ? 'next' : 'lost'
}

/** One call as a row: tool, arguments, state and result. `waits`: whether it waits for an answer of the user. */
export function Call({
  conversation,
  use,
  call,
  result,
  waits,
  isBusy,
}: {
  conversation: string
  use: ToolUse
  call: CallRow | undefined
  result: unknown
  waits: boolean
  isBusy: boolean
}): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const [isOpen, setOpen] = useState(false)
  const tools = useRead('catalog.tools', {}).data
  const entry = tools?.find(({ name }) => plainText(name) === use.name)
  const state = stateOf(call, result, waits, isBusy)
  const isRunning = state === 'running' || state === 'asked'
  const { Icon, tone } = icons[state]
  // The turn of a call that finished later has only a note that there is no result yet.
  const isLate = call?.state === 'done' && (call.question !== undefined || call.task !== undefined)
  const content = contentOf(isLate && call.result !== undefined ? call : result)
  const reason = firstLine(content)
  const fullContent = call?.result?.content
  const isShortened =
    fullContent !== undefined && JSON.stringify(fullContent).length > JSON.stringify(content).length
  return (
    <div className={style.call} data-state={state}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon
            size={16}
            strokeWidth={1.75}
            className={`${uiStyle[tone]} ${state === 'running' ? style.turning : ''}`}
            aria-label={t(`call.${state}`)}
          />
          {entry !== undefined && <ServerBadge name={entry.server} />}
          <span className={style.tool}>
            <SafeText text={entry?.tool.name ?? untrusted(use.name)} maxCharacters={80} inline />
          </span>
          <span className={style.arguments}>
            <SafeText text={untrusted(briefly(use.input))} maxCharacters={160} inline />
          </span>
          <span className={style.outcome}>
            {state === 'done' && <Brief content={content} />}
            {state !== 'done' && !isRunning && t(`call.${state}`)}
            {call?.durationMs !== undefined && <span>{duration(call.durationMs)}</span>}
          </span>
          <ChevronRight size={14} className={style.chevron} aria-hidden="true" />
        </summary>
        {isOpen && (
          <div className={style.inside}>
            <h3>
              {t('call.arguments')} <Tokens content={use.input} />
            </h3>
            <ExactJson value={use.input} label={t('call.arguments')} />
            {result !== undefined && (
              <>
                <h3>
                  {t('call.result')} <Tokens content={content} />
                  {isShortened && (
                    <>
                      {' '}
                      {t('call.given')} <Tokens content={fullContent} />
                    </>
                  )}
                </h3>
                <Blocks content={content} label={t('call.result')} />
              </>
            )}
            <p className={style.links}>
              {call?.decision !== undefined && (
                <span>
                  {t('call.decision', { verdict: call.decision.verdict, rule: call.decision.rule })}
                </span>
              )}
              {call?.activity !== undefined && (
                <Link href={routes.activity.to(call.activity)}>
                  {t('card.activity', { id: call.activity })}
                </Link>
              )}
              {entry !== undefined && (
                <Link href={routes.tool.to(entry.server, plainText(entry.tool.name), inputOf(use))}>
                  {t('call.again')}
                </Link>
              )}
            </p>
          </div>
        )}
      </details>
      {state === 'failed' && !isOpen && reason !== undefined && (
        <p className={style.reason}>
          <SafeText text={untrusted(reason)} maxCharacters={200} inline />
        </p>
      )}
      {isRunning && call !== undefined && <Running conversation={conversation} call={call} waits={waits} />}
      <CallApp
        name={use.name}
        input={use.input}
        result={call?.result ?? resultIn(result)}
        cancelled={state === 'denied' || state === 'cancelled' ? t(`call.${state}`) : undefined}
        conversation={conversation}
        activity={call?.activity}
        isNew={call !== undefined}
      />
      {state === 'later' && call?.question !== undefined && (
        <p className={style.wait}>
          <Link href={routes.question.to(plainText(call.question))}>{t('call.answerLater')}</Link>
        </p>
      )}
    </div>
  )
}

/** What a call waits for, and its progress. */
function Running({
  conversation,
  call,
  waits,
}: {
  conversation: string
  call: CallRow
  waits: boolean
}): ReactNode {
  const t = useText()
  const { duration, number } = useFormat()
  const { client } = useHost()
  const { id } = call
  const cancel = useAction(
    useCallback(
      () => client.call('conversations.cancelCall', { id: conversation, call: id }),
      [client, conversation, id],
    ),
  )
  const [since] = useState(() => Date.now())
  const seconds = Math.max(0, Math.floor((useNow() - since) / 1_000))
  const { progress, sent } = call
  return (
    <div className={style.wait}>
      {progress !== undefined && (
        <progress
          aria-label={t('call.progress')}
          {...(progress.total !== undefined && { max: progress.total, value: progress.progress })}
        />
      )}
      <span>
        {waits ? t('call.waitsForYou') : sent !== true ? t('call.waitsForServer') : null}
        {progress?.message !== undefined && <SafeText text={progress.message} maxCharacters={120} inline />}
        {progress !== undefined && (
          <>
            {' '}
            {progress.total === undefined
              ? number(progress.progress)
              : t('call.progressOf', {
                  progress: number(progress.progress),
                  total: number(progress.total),
                })}
          </>
        )}
        {!waits && sent === true && progress === undefined && t('call.running')}
      </span>
      {!waits && sent === true && <span className={style.elapsed}>{duration(seconds * 1_000)}</span>}
      <Button
        small
        look="quiet"
        isOff={cancel.isRunning}
        onClick={() => void cancel.run()}
        data-act="cancel-call"
      >
        <Square size={12} aria-hidden="true" /> {t('call.cancel')}
      </Button>
      {cancel.error !== undefined && <ErrorNote error={cancel.error} />}
    </div>
  )
}

/** The first line of the first text of a result; undefined if there is none. */
function firstLine(content: unknown): string | undefined {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  const [line = ''] = (blocks.find(isTextBlock)?.text ?? '').trimStart().split('\n', 1)
  return line === '' ? undefined : line
}

/** The beginning of a result in one line. */
function Brief({ content }: { content: unknown }): ReactNode {
  const { number } = useFormat()
  const t = useText()
  const blocks: readonly unknown[] = Array.isArray(content) ? content : content === undefined ? [] : [content]
  const text = blocks.find(isTextBlock)?.text
  if (text === undefined)
    return blocks.length > 0 ? <span>{t('call.parts', { count: blocks.length })}</span> : null
  const [line = ''] = text.trimStart().split('\n', 1)
  if (line.length <= 48 && line.length === text.trim().length) return <Short text={untrusted(line)} />
  return <span>{t('call.characters', { count: number(text.length) })}</span>
}

function Short({ text }: { text: UntrustedText }): ReactNode {
  return (
    <span className={style.brief}>
      <SafeText text={text} maxCharacters={48} inline />
    </span>
  )
}

function inputOf({ input }: ToolUse): Readonly<Record<string, unknown>> {
  return typeof input === 'object' && input !== null ? Object.fromEntries(Object.entries(input)) : {}
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
