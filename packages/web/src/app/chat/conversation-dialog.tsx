import { Ellipsis } from 'lucide-react'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useAction, useHost } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Menu } from '../ui/menu.tsx'
import { Button, Field, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'

/** Actions on a conversation that need input or confirmation. */
export type ConversationDialogKind = 'rename' | 'compact' | 'delete'

export function ConversationMenu({
  id,
  onDialog,
}: {
  id: string
  onDialog: (dialog: ConversationDialogKind) => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [, navigate] = useLocation()
  return (
    <Menu
      label={t('chat.acts')}
      data-act="acts"
      button={<Ellipsis size={16} aria-hidden="true" />}
      items={[
        { key: 'rename', text: t('command.rename'), onChoose: () => onDialog('rename') },
        {
          key: 'fork',
          text: t('command.fork'),
          onChoose: () =>
            void client.call('conversations.fork', { id }).then((fork) => navigate(routes.chat.to(fork))),
        },
        { key: 'compact', text: t('command.compact'), onChoose: () => onDialog('compact') },
        { key: 'delete', text: t('command.delete'), isGrave: true, onChoose: () => onDialog('delete') },
      ]}
    />
  )
}

/** Asks for the input or confirmation of an action. Esc and the second button cancel. */
export function ConversationDialog({
  id,
  title,
  kind,
  onClose,
}: {
  id: string
  title: string
  kind: ConversationDialogKind
  onClose: () => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [location, navigate] = useLocation()
  const [text, setText] = useState(kind === 'rename' ? title : '')
  const summarize = useAction(
    useCallback(async () => setText(await client.call('conversations.summarize', { id })), [client, id]),
  )
  const begin = summarize.run
  useEffect(() => {
    if (kind === 'compact') void begin()
  }, [kind, begin])
  const action = useAction(
    useCallback(async () => {
      if (kind === 'rename') await client.call('conversations.setTitle', { id, title: text })
      else if (kind === 'compact') await client.call('conversations.compact', { id, summary: text })
      else await client.call('conversations.remove', { id })
    }, [client, id, kind, text]),
  )
  const confirm = async (): Promise<void> => {
    if (!(await action.run())) return
    onClose()
    if (kind === 'delete' && location === routes.chat.to(id)) navigate(routes.chats.to())
  }
  const first = useRef<HTMLButtonElement & HTMLInputElement & HTMLTextAreaElement>(null)
  useEffect(() => first.current?.focus(), [])
  const error = action.error ?? summarize.error
  return (
    <form
      className={style.dialog}
      aria-label={t(`command.${kind}`)}
      onSubmit={(event) => {
        event.preventDefault()
        void confirm()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      {kind === 'rename' && (
        <Field label={t('chat.title')}>
          {(ids) => (
            <input
              {...ids}
              ref={first}
              className={uiStyle.input}
              value={text}
              maxLength={200}
              onFocus={({ target }) => target.select()}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      )}
      {kind === 'compact' && (
        <Field label={t('chat.summaryToUse')} hint={t('chat.summaryMeans')}>
          {(ids) => (
            <textarea
              {...ids}
              ref={first}
              className={uiStyle.input}
              rows={6}
              aria-busy={summarize.isRunning}
              placeholder={summarize.isRunning ? t('chat.summarizing') : undefined}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      )}
      {kind === 'delete' && (
        <p>
          {t('chat.deleteMeans')} <SafeText text={untrusted(title)} maxCharacters={80} inline />
        </p>
      )}
      {error !== undefined && <ErrorNote error={error} />}
      <div className={style.choices}>
        <Button
          small
          type="submit"
          look={kind === 'delete' ? undefined : 'primary'}
          isOff={action.isRunning || (kind !== 'delete' && text.trim() === '')}
          className={kind === 'delete' ? uiStyle.danger : undefined}
          data-act="confirm"
        >
          {t(`chat.confirm.${kind}`)}
        </Button>
        <Button small look="quiet" onClick={onClose}>
          {t('chat.keep')}
        </Button>
      </div>
    </form>
  )
}
