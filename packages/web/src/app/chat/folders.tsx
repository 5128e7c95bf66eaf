import type { ReactNode } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { folderOf } from '../text/pieces.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import style from './chat.module.css'

/** The open folders, and which servers see them. */
export function FoldersSection(): ReactNode {
  const t = useText()
  const folders = useRead('roots.list', {}).data
  const servers = useRead('roots.servers', {}).data
  return (
    <section className={style.part} aria-label={t('context.folders')} data-section="folders">
      <h3>
        {t('context.folders')} <small>{folders?.length ?? ''}</small>
      </h3>
      <ul>
        {folders?.map(({ uri, name }) => {
          const seen = servers?.filter(({ roots }) =>
            roots.some((root) => plainText(root.uri) === plainText(uri)),
          )
          return (
            <li key={plainText(uri)} className={style.copy}>
              <span className={style.cut} title={plainText(uri).slice(0, 300)}>
                <SafeText text={name ?? untrusted(folderOf(plainText(uri)))} maxCharacters={80} inline />
              </span>
              <p className={style.quiet}>
                {seen === undefined || seen.length === 0
                  ? t('context.seenByNone')
                  : t('context.seenBy', {
                      servers: seen.map(({ server }) => server).join(t('list.separator')),
                    })}
              </p>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
