import type { LibraryPrompt } from '@jackfield/host/browser'
import type { SamplingMessage } from '@jackfield/sdk'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { asError, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Blocks, isTextBlock } from '../text/blocks.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Field, Key, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'
import { PromptField } from './prompt-field.tsx'

/** The form of a prompt: its arguments, then its messages, which can be edited before they are sent. */
export default function PromptForm({
  conversation,
  prompt,
  onClose,
}: {
  conversation: string
  prompt: FromHost<LibraryPrompt>
  onClose: () => void
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const { client } = useHost()
  const command = plainText(prompt.command)
  const args = prompt.prompt.arguments ?? []
  const { data: stored, refetch } = useRead('library.promptValues', { prompt: command })
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const values = { ...plain<Record<string, string> | undefined>(stored), ...typed }
  const [messages, setMessages] = useState<readonly SamplingMessage[]>()
  const [tokens, setTokens] = useState(0)
  const [error, setError] = useState<Error>()
  const form = useRef<HTMLFormElement>(null)
  const failed = (reason: unknown): void => setError(asError(reason))
  const filledValues = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  const preview = (): void => {
    setError(undefined)
    client
      .call('library.prompt', { prompt: command, arguments: filledValues, conversation })
      .then((result) => {
        setMessages(result.input)
        setTokens(result.tokens)
      }, failed)
    if (args.length > 0)
      client
        .call('library.keepPromptValues', { prompt: command, arguments: filledValues })
        .then(refetch, () => {})
  }
  const send = (): void => {
    if (messages === undefined) return
    if (client.state.state !== 'connected') {
      setError(new Error(t('card.offline')))
      return
    }
    onClose()
    client.call('conversations.say', { id: conversation, input: { messages } }).catch(() => {})
  }
  const submit = messages === undefined ? preview : send
  const isPlain = args.length === 0
  const first = useRef(preview)
  useEffect(() => {
    if (isPlain) first.current()
  }, [isPlain])
  const isPreview = messages !== undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step begins at its first field
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input, textarea')?.focus()
  }, [isPreview])
  return (
    <form
      ref={form}
      className={style.prompt}
      aria-label={t('prompt.form')}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) onClose()
        else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          submit()
        }
      }}
    >
      <header>
        <ServerBadge name={prompt.server} />
        <strong>
          <SafeText text={untrusted(`/${command}`)} maxCharacters={100} inline />
        </strong>
        {prompt.prompt.description !== undefined && (
          <span className={style.cut}>
            <SafeText text={prompt.prompt.description} maxCharacters={200} inline />
          </span>
        )}
      </header>
      {messages === undefined
        ? args.map(({ name, description, required }) => (
            <PromptField
              key={plainText(name)}
              server={prompt.server}
              prompt={plainText(prompt.prompt.name)}
              name={plainText(name)}
              description={description}
              isRequired={required === true}
              values={values}
              onChange={(value) => setTyped({ ...typed, [plainText(name)]: value })}
            />
          ))
        : messages.map((message, n) => (
            <Message
              // biome-ignore lint/suspicious/noArrayIndexKey: messages of a prompt have no other identity
              key={n}
              message={message}
              onChange={(next) =>
                setMessages(messages.map((current, index) => (index === n ? next : current)))
              }
            />
          ))}
      {error !== undefined && <ErrorNote error={error} />}
      <footer className={style.choices}>
        {isPreview && <span className={style.hints}>{t('prompt.exact', { tokens: compact(tokens) })}</span>}
        <Button small look="quiet" onClick={onClose}>
          {t('prompt.close')}
        </Button>
        {isPreview && !isPlain && (
          <Button small onClick={() => setMessages(undefined)}>
            {t('form.back')}
          </Button>
        )}
        <Button small look="primary" type="submit" data-act={isPreview ? 'send' : 'preview'}>
          {t(isPreview ? 'chat.send' : 'prompt.preview')} {isPreview && <Key>Ctrl ⏎</Key>}
        </Button>
      </footer>
    </form>
  )
}

function Message({
  message,
  onChange,
}: {
  message: SamplingMessage
  onChange: (message: SamplingMessage) => void
}): ReactNode {
  const t = useText()
  const { role, content } = message
  const blocks = Array.isArray(content) ? content : [content]
  return blocks.map((block, n) =>
    isTextBlock(block) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
      <Field key={n} label={t(`role.${role}`)}>
        {(ids) => (
          <textarea
            {...ids}
            className={`${uiStyle.input} ${style.growing}`}
            rows={2}
            value={block.text}
            onChange={({ target }) => {
              const edited = { ...block, text: target.value }
              onChange({
                ...message,
                content: Array.isArray(content)
                  ? content.map((current, index) => (index === n ? edited : current))
                  : edited,
              })
            }}
          />
        )}
      </Field>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
      <Blocks key={n} content={block} label={t(`role.${role}`)} />
    ),
  )
}
