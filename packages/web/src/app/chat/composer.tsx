import type { AttachedCopy } from '@jackfield/host/browser'
import type { ConversationRow } from '@jackfield/host/client'
import { FileText, Paperclip, SendHorizontal, Square, X } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { asError, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { isText, useDraft } from '../questions/answer.ts'
import { routes } from '../routes.ts'
import { useDock } from '../shell/dock-state.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { type FromHost, plainText } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import { Button, Key } from '../ui/ui.tsx'
import style from './chat.module.css'
import { commandIn, useCommands } from './commands.ts'
import type { ConversationDialogKind } from './conversation-dialog.tsx'
import { type Choice, replaceWord, type Suggestion, useSuggestions, wordAt } from './suggestions.ts'

const PromptForm = loaded(() => import('./prompt-form.tsx'))

type QueuedRow = Extract<FromHost<ConversationRow>, { kind: 'queued' }>

type ChosenPrompt = Extract<Choice, { prompt: unknown }>['prompt']

/** Maximum number of attached resources shown above the text; the others are counted. */
const maxChips = 6

/** The input for the next message. It shares no state with the transcript, which renders often. */
export function Composer({
  id,
  isNew,
  isBusy,
  queued,
  attached,
  onEditLast,
  onDialog,
}: {
  id: string
  /** Whether the conversation is empty, so that the user is about to write. */
  isNew: boolean
  isBusy: boolean
  queued: readonly QueuedRow[]
  /** Resources that are attached to the next message. */
  attached: readonly FromHost<AttachedCopy>[]
  onEditLast: () => void
  onDialog: (dialog: ConversationDialogKind) => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const list = useId()
  const [text, setText, forget] = useDraft(`${id}.composer`, '', isText)
  const [caret, setCaret] = useState(0)
  const [activeIndex, setActiveIndex] = useState(0)
  const [isClosed, setClosed] = useState(false)
  const [prompt, setPrompt] = useState<ChosenPrompt>()
  const [error, setError] = useState<Error>()
  const area = useRef<HTMLTextAreaElement>(null)
  const word = isClosed ? undefined : wordAt(text, caret)
  const suggestions = useSuggestions(word)
  const isSuggesting = suggestions.length > 0
  const failed = (reason: unknown): void => setError(asError(reason))
  const runCommand = useCommands(id, onDialog, failed)
  useRequestedPrompt(id, setPrompt)
  useFocus(area, isNew, prompt !== undefined)
  const clear = (): void => {
    setText('')
    forget()
    setActiveIndex(0)
  }
  const send = (): void => {
    if (text.trim() === '') return
    if (client.state.state !== 'connected') {
      setError(new Error(t('card.offline')))
      return
    }
    setError(undefined)
    const message = text
    const command = commandIn(message)
    clear()
    if (command !== undefined) runCommand(command.command, command.rest)
    else client.call('conversations.say', { id, input: { text: message } }).catch(failed)
  }
  const run = (choice: Choice): void => {
    if ('attach' in choice)
      client
        .call('library.attach', { conversation: id, refs: [choice.attach] })
        .then(({ failed: [first], withheld: [firstWithheld] }) => {
          const refused = first ?? firstWithheld
          if (refused !== undefined) failed(new Error(refused.reason))
        }, failed)
    else if ('prompt' in choice) setPrompt(choice.prompt)
    else if ('command' in choice) runCommand(choice.command, '')
    else if ('model' in choice)
      client.call('conversations.setModel', { id, model: choice.model }).catch(failed)
  }
  const choose = (suggestion: Suggestion | undefined): void => {
    if (word === undefined || suggestion === undefined) return
    const { choice } = suggestion
    const next = replaceWord(text, word, 'insert' in choice ? choice.insert : '')
    setText(next.text)
    setCaret(next.caret)
    setActiveIndex(0)
    setError(undefined)
    run(choice)
    requestAnimationFrame(() => area.current?.setSelectionRange(next.caret, next.caret))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const isMod = event.ctrlKey || event.metaKey
    if (isSuggesting && step !== undefined) {
      event.preventDefault()
      setActiveIndex((activeIndex + step + suggestions.length) % suggestions.length)
    } else if (isSuggesting && (event.key === 'Tab' || (event.key === 'Enter' && !isMod))) {
      event.preventDefault()
      choose(suggestions[activeIndex])
    } else if (event.key === 'ArrowUp' && text === '') {
      event.preventDefault()
      onEditLast()
    } else if (event.key === 'Escape') setClosed(true)
    else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      send()
    }
  }
  if (prompt !== undefined)
    return (
      <div className={style.composer}>
        <PromptForm conversation={id} prompt={prompt} onClose={() => setPrompt(undefined)} />
      </div>
    )
  return (
    <div className={style.composer}>
      {error !== undefined && <ErrorNote error={error} />}
      <QueuedMessages conversation={id} queued={queued} />
      <div className={style.field}>
        {isSuggesting && (
          <Suggestions id={list} activeIndex={activeIndex} suggestions={suggestions} onChoose={choose} />
        )}
        {attached.length > 0 && <AttachedResources conversation={id} attached={attached} />}
        <textarea
          ref={area}
          rows={1}
          aria-label={t('chat.say')}
          placeholder={t('chat.placeholder')}
          value={text}
          aria-controls={isSuggesting ? list : undefined}
          aria-activedescendant={isSuggesting ? `${list}-${activeIndex}` : undefined}
          aria-autocomplete="list"
          onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
          onChange={({ target }) => {
            setText(target.value)
            setCaret(target.selectionStart)
            setClosed(false)
            setActiveIndex(0)
          }}
          onKeyDown={onKeyDown}
        />
        <ComposerActions
          isBusy={isBusy}
          isEmpty={text.trim() === ''}
          onStop={() => client.call('conversations.stop', { id }).catch(failed)}
          onSend={send}
        />
      </div>
    </div>
  )
}

/** Focuses the input of a new conversation, and the one of any when the form of a prompt closes. */
function useFocus(area: RefObject<HTMLElement | null>, isNew: boolean, hasPrompt: boolean): void {
  // On a touch screen, the keyboard would cover what the new conversation shows.
  const isAtKeyboard = isNew && !matchMedia('(pointer: coarse)').matches
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it is opened
  useEffect(() => {
    if (isAtKeyboard) area.current?.focus()
  }, [])
  const hadPrompt = useRef(false)
  useEffect(() => {
    if (!hasPrompt && hadPrompt.current) area.current?.focus()
    hadPrompt.current = hasPrompt
  }, [hasPrompt, area])
}

/** Opens the prompt that the address names, once, and removes it from the address. */
function useRequestedPrompt(id: string, onPrompt: (prompt: ChosenPrompt) => void): void {
  const requestedPrompt = new URLSearchParams(useSearch()).get('prompt')
  const [, navigate] = useLocation()
  const prompts = useRead('library.prompts', {}, { enabled: requestedPrompt !== null }).data
  useEffect(() => {
    const prompt = prompts?.find(({ command }) => plainText(command) === requestedPrompt)
    if (prompt === undefined) return
    onPrompt(prompt)
    navigate(routes.chat.to(id), { replace: true })
  }, [prompts, requestedPrompt, id, navigate, onPrompt])
}

/** The buttons below the text: attach, stop and send. */
function ComposerActions({
  isBusy,
  isEmpty,
  onStop,
  onSend,
}: {
  isBusy: boolean
  isEmpty: boolean
  onStop: () => void
  onSend: () => void
}): ReactNode {
  const t = useText()
  const dock = useDock()
  return (
    <div className={style.actions}>
      <Button
        small
        look="quiet"
        aria-label={t('context.add')}
        title={t('context.add')}
        onClick={() => dock.show('context', 'attach')}
        data-act="attach"
      >
        <Paperclip size={16} aria-hidden="true" />
      </Button>
      <span className={style.hints}>{t('chat.hints')}</span>
      {isBusy && (
        <Button small onClick={onStop} data-act="stop">
          <Square size={12} fill="currentcolor" aria-hidden="true" /> {t('chat.stop')} <Key>Ctrl .</Key>
        </Button>
      )}
      <Button small look="primary" isOff={isEmpty} onClick={onSend} data-act="send">
        <SendHorizontal size={14} aria-hidden="true" /> {t(isBusy ? 'chat.queue' : 'chat.send')}
      </Button>
    </div>
  )
}

/** Messages that are sent after the current answer. */
function QueuedMessages({
  conversation,
  queued,
}: {
  conversation: string
  queued: readonly QueuedRow[]
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  return queued.map(({ id, input }) => (
    <div key={id} className={style.queued}>
      <span>{t('chat.queued')}</span>
      <span className={style.cut}>
        {input.text !== undefined && <SafeText text={input.text} maxCharacters={160} inline />}
      </span>
      <Button
        small
        look="quiet"
        aria-label={t('chat.unqueue')}
        title={t('chat.unqueue')}
        onClick={() => void client.call('conversations.unqueue', { id: conversation, message: id })}
      >
        <X size={14} aria-hidden="true" />
      </Button>
    </div>
  ))
}

/** The resources that the next message includes, the first of them by name. */
function AttachedResources({
  conversation,
  attached,
}: {
  conversation: string
  attached: readonly FromHost<AttachedCopy>[]
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const { client } = useHost()
  const dock = useDock()
  const detach = (server: string, uri: string): void =>
    void client.call('library.detach', { conversation, ref: { server, uri } })
  return (
    <ul className={style.chips} aria-label={t('chat.attached')}>
      {attached.slice(0, maxChips).map(({ server, uri, title, tokens, because }) => (
        <li key={`${server} ${plainText(uri)}`} className={style.chip}>
          <FileText size={14} aria-hidden="true" />
          <span className={style.cut}>
            <SafeText text={title} maxCharacters={40} inline />
          </span>
          <small>{because === undefined ? compact(tokens) : t('context.automatic')}</small>
          <button
            type="button"
            aria-label={t('chat.detach', { title: plainText(title).slice(0, 60) })}
            onClick={() => detach(server, plainText(uri))}
          >
            <X size={12} aria-hidden="true" />
          </button>
        </li>
      ))}
      {attached.length > maxChips && (
        <li>
          <Button small look="quiet" onClick={() => dock.show('context')}>
            {t('chat.moreAttached', { count: attached.length - maxChips })}
          </Button>
        </li>
      )}
    </ul>
  )
}

function Suggestions({
  id,
  activeIndex,
  suggestions,
  onChoose,
}: {
  id: string
  activeIndex: number
  suggestions: readonly Suggestion[]
  onChoose: (suggestion: Suggestion) => void
}): ReactNode {
  const t = useText()
  return (
    <div className={style.suggestions} role="listbox" id={id} tabIndex={0} aria-label={t('chat.suggestions')}>
      {suggestions.map((suggestion, n) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the composer has the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the composer keeps the focus
        <div
          key={suggestion.key}
          id={`${id}-${n}`}
          role="option"
          aria-selected={n === activeIndex}
          ref={(element) => {
            if (n === activeIndex) element?.scrollIntoView({ block: 'nearest' })
          }}
          className={style.suggestion}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(suggestion)}
        >
          <span className={style.suggested}>
            <SafeText text={suggestion.name} maxCharacters={100} inline />
          </span>
          <span className={`${style.cut} ${style.about}`}>
            {suggestion.about !== undefined && (
              <SafeText text={suggestion.about} maxCharacters={120} inline />
            )}
          </span>
          {suggestion.note !== '' && (
            <small>
              <ServerBadge name={suggestion.note} /> {suggestion.note}
            </small>
          )}
        </div>
      ))}
    </div>
  )
}
