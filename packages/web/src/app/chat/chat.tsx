import { Plus } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { Link, useLocation } from 'wouter'
import { useAction, useHost, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Button, Empty, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'
import { Opened } from './conversation.tsx'
import { ConversationList } from './conversation-list.tsx'

/** Conversations, and the one that is open. */
export default function Chat({ conversation }: { conversation?: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const servers = useTopic('servers')
  const [, navigate] = useLocation()
  const begin = useAction(
    useCallback(async () => {
      const id = await client.call('conversations.open', {})
      navigate(routes.chat.to(id))
    }, [client, navigate]),
  )
  return (
    <div className={style.chat} data-open={conversation !== undefined}>
      <section className={style.list} aria-label={t('chat.list')}>
        <Button look="primary" isOff={begin.isRunning} onClick={() => begin.run()} data-act="new">
          <Plus size={16} aria-hidden="true" /> {t('chat.new')}
        </Button>
        {begin.error !== undefined && <ErrorNote error={begin.error} />}
        <ConversationList here={conversation} />
      </section>
      {conversation === undefined ? (
        <div className={style.none}>
          <Empty title={t('chat.empty')}>
            <p>{t('chat.emptyMeans')}</p>
            <p className={style.firsts}>
              <Button look="primary" isOff={begin.isRunning} onClick={() => begin.run()} data-act="begin">
                <Plus size={16} aria-hidden="true" /> {t('chat.start')}
              </Button>
              {servers?.size === 0 && (
                <Link className={uiStyle.button ?? ''} href={routes.setting.to('registry')}>
                  {t('servers.add')}
                </Link>
              )}
            </p>
          </Empty>
        </div>
      ) : (
        <Opened key={conversation} id={conversation} />
      )}
    </div>
  )
}
