import type { LibraryPrompt, PromptPreview } from '@jackfield/host/browser'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, JsonTree, SafeText } from '../text/safe-text.tsx'
import { type FromHost, fromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Empty, Field, Note, Search, uiStyle } from '../ui/ui.tsx'
import { CompletedField } from './completed-field.tsx'
import style from './library.module.css'
import { TargetSelect, useRecentConversations } from './target-select.tsx'

/** Prompts of all servers: a form, then the exact messages, which can be changed before they are sent. */
export default function Prompts({ chosen }: { chosen?: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [query, setQuery] = useState('')
  const prompts = useRead('library.prompts', {}).data
  if (prompts === undefined) return null
  const searchText = query.trim().toLowerCase()
  const shown = prompts.filter(({ command, prompt }) =>
    `${plainText(command)} ${prompt.description === undefined ? '' : plainText(prompt.description)}`
      .toLowerCase()
      .includes(searchText),
  )
  const here = prompts.find(({ command }) => plainText(command) === chosen)
  return (
    <div className={`${screen.split} ${style.split}`} data-open={here !== undefined} data-wide="detail">
      <section className={`${screen.pane} ${screen.stack}`} aria-label={t('inspect.prompts')}>
        <Search
          label={t('library.findPrompt')}
          value={query}
          count={
            searchText === ''
              ? undefined
              : t('activity.count', { shown: number(shown.length), all: number(prompts.length) })
          }
          onChange={setQuery}
        />
        {prompts.length === 0 && <Empty title={t('library.noPrompts')} />}
        <ul className={screen.rows}>
          {shown.map(({ command, prompt }) => (
            <li key={plainText(command)}>
              <Link
                href={routes.prompt.to(plainText(command))}
                className={`${screen.row} ${screen.item}`}
                aria-current={plainText(command) === chosen || undefined}
              >
                <span className={style.command}>
                  <SafeText text={untrusted(`/${plainText(command)}`)} maxCharacters={120} inline />
                </span>
                {prompt.description !== undefined && (
                  <span className={screen.muted}>
                    <SafeText text={prompt.description} maxCharacters={160} inline />
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('library.prompt')}>
        {here === undefined ? (
          <p className={screen.nothing}>{t('library.choosePrompt')}</p>
        ) : (
          <PromptForm key={plainText(here.command)} prompt={here} />
        )}
      </section>
    </div>
  )
}

function PromptForm({ prompt: entry }: { prompt: FromHost<LibraryPrompt> }): ReactNode {
  const t = useText()
  const { client, queries } = useHost()
  const { server, prompt } = entry
  const command = plainText(entry.command)
  const last = useRead('library.promptValues', { prompt: command }).data
  const [values, setValues] = useState<Readonly<Record<string, string>>>()
  const [preview, setPreview] = useState<FromHost<PromptPreview>>()
  useEffect(() => {
    if (last !== undefined) setValues((before) => before ?? plain<Record<string, string>>(last))
  }, [last])
  const currentValues = values ?? {}
  const missing = (prompt.arguments ?? []).filter(
    ({ name, required }) => required === true && (currentValues[plainText(name)] ?? '') === '',
  )
  const show = useAction(
    useCallback(async () => {
      const filled = Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== ''))
      setPreview(fromHost(await client.call('library.prompt', { prompt: command, arguments: filled })))
      await client.call('library.keepPromptValues', { prompt: command, arguments: filled })
      await queries.invalidateQueries({ queryKey: ['library', 'library.promptValues'] })
    }, [client, queries, command, values]),
  )
  return (
    <div className={screen.stack}>
      <Link
        href={routes.prompt.to()}
        className={`${uiStyle.button} ${uiStyle.small} ${screen.back} ${style.back}`}
      >
        ‹ {t('inspect.prompts')}
      </Link>
      <h2>
        <SafeText text={prompt.title ?? untrusted(`/${command}`)} maxCharacters={120} inline />
      </h2>
      <p className={screen.muted}>
        {server}
        {prompt.title !== undefined && (
          <>
            {' · '}
            <SafeText text={untrusted(`/${command}`)} inline />
          </>
        )}
      </p>
      {prompt.description !== undefined && (
        <p>
          <SafeText text={prompt.description} maxCharacters={600} />
        </p>
      )}
      <form
        className={screen.stack}
        onSubmit={(event) => {
          event.preventDefault()
          if (missing.length === 0) void show.run()
        }}
      >
        {(prompt.arguments ?? []).map(({ name, description, required }) => {
          const key = plainText(name)
          return (
            <CompletedField
              key={key}
              server={server}
              of={{ prompt: plainText(prompt.name) }}
              argument={key}
              description={description === undefined ? undefined : plainText(description)}
              required={required === true}
              value={currentValues[key] ?? ''}
              chosen={currentValues}
              onChange={(value) => {
                setValues({ ...currentValues, [key]: value })
                setPreview(undefined)
              }}
            />
          )
        })}
        <div className={screen.bar}>
          <Button
            type="submit"
            look={preview === undefined ? 'primary' : undefined}
            data-act="show"
            isOff={missing.length > 0 || show.isRunning}
          >
            {t('library.showMessages')}
          </Button>
        </div>
      </form>
      {show.error !== undefined && <ErrorNote error={show.error} />}
      {preview !== undefined && <Messages preview={preview} />}
    </div>
  )
}

type PromptMessage = PromptPreview['input'][number]

/** The messages of a prompt, editable before they are sent. */
function Messages({ preview }: { preview: FromHost<PromptPreview> }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { client } = useHost()
  const [, navigate] = useLocation()
  const conversations = useRecentConversations()
  const [target, setTarget] = useState('')
  const [messages, setMessages] = useState<readonly PromptMessage[]>(() =>
    plain<readonly PromptMessage[]>(preview.input),
  )
  const withheld = preview.messages.filter((message) => message.withheld !== undefined)
  const send = useAction(
    useCallback(async () => {
      const id = await client.call('conversations.open', target === '' ? {} : { id: target })
      // The turn goes on without this screen.
      void client.call('conversations.say', { id, input: { messages } }).catch(() => {})
      navigate(routes.chat.to(id))
    }, [client, target, messages, navigate]),
  )
  return (
    <section className={screen.stack} aria-label={t('library.messages')}>
      <h3>
        {t('library.messages')}{' '}
        <span className={screen.muted}>{t('library.tokens', { count: number(preview.tokens) })}</span>
      </h3>
      {withheld.map(({ withheld: reason }) => (
        <Note key={reason === undefined ? '' : plainText(reason)} tone="info">
          <HostText text={reason ?? untrusted('')} />
        </Note>
      ))}
      {messages.map((message, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages of a prompt have no other identity
        <div key={n} className={style.message}>
          <span className={style.role}>{t(`role.${message.role}`)}</span>
          {blocksOf(message).map((block, blockIndex) =>
            block.type === 'text' ? (
              <Field
                // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a message have no other identity
                key={blockIndex}
                label={<span className="hidden-text">{t('library.messageText', { number: n + 1 })}</span>}
              >
                {(ids) => (
                  <textarea
                    {...ids}
                    className={uiStyle.input}
                    rows={Math.min(12, block.text.split('\n').length + 1)}
                    value={block.text}
                    onChange={({ target }) =>
                      setMessages(
                        messages.map((current, i) =>
                          i === n ? withText(current, blockIndex, target.value) : current,
                        ),
                      )
                    }
                  />
                )}
              </Field>
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a message have no other identity
              <JsonTree key={blockIndex} value={block} label={t('library.messages')} />
            ),
          )}
        </div>
      ))}
      {send.error !== undefined && <ErrorNote error={send.error} />}
      <div className={style.target}>
        <TargetSelect conversations={conversations} value={target} onChange={setTarget} />
        <Button
          look="primary"
          data-act="send"
          isOff={send.isRunning || messages.length === 0}
          onClick={() => void send.run()}
        >
          {t('library.send')}
        </Button>
      </div>
    </section>
  )
}

function blocksOf({
  content,
}: PromptMessage): readonly Extract<PromptMessage['content'], { type: string }>[] {
  return Array.isArray(content) ? content : [content]
}

function withText(message: PromptMessage, blockIndex: number, text: string): PromptMessage {
  const blocks = blocksOf(message).map((block, index) =>
    index === blockIndex && block.type === 'text' ? { ...block, text } : block,
  )
  const [firstBlock] = blocks
  return Array.isArray(message.content) || firstBlock === undefined
    ? { ...message, content: [...blocks] }
    : { ...message, content: firstBlock }
}
