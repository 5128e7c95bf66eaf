import type { TopicRow } from '@jackfield/host/client'
import type { ReactNode } from 'react'
import { useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { type FromHost, plainText } from '../text/untrusted-text.ts'
import { uiStyle } from '../ui/ui.tsx'

type Conversations = readonly FromHost<TopicRow<'conversations'>>[]

const maxShown = 50

/** All conversations, the one used last first. */
export function useRecentConversations(): Conversations {
  return [...(useTopic('conversations')?.values() ?? [])].toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : -1))
}

/** Selects the conversation to send something to, or a new one. */
export function TargetSelect({
  conversations,
  value,
  onChange,
}: {
  conversations: Conversations
  /** The id of the conversation; empty for a new one. */
  value: string
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  return (
    <select
      className={uiStyle.input}
      aria-label={t('library.target')}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{t('library.newConversation')}</option>
      {conversations.slice(0, maxShown).map(({ id, title }) => (
        <option key={id} value={id}>
          {plainText(title).slice(0, 80)}
        </option>
      ))}
    </select>
  )
}
