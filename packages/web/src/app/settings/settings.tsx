import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useText } from '../i18n/i18n.ts'
import { routes, type SettingsSection, settingsSections } from '../routes.ts'
import { loaded } from '../ui/loaded.tsx'
import { scrollIntoRow } from '../ui/ui.tsx'
import { Appearance, Folders, Surfaces } from './general.tsx'
import { Models } from './models.tsx'
import { Secrets } from './secrets.tsx'
import style from './settings.module.css'

const Configuration = loaded(() => import('./configuration.tsx'))
const RegistrySection = loaded(() => import('./registry.tsx'))
const ServerSettings = loaded(() => import('./server-settings.tsx'))

/** What the host has and how the page looks, one part at a time. */
export default function SettingsScreen({ section, name }: { section: string; name?: string }): ReactNode {
  const t = useText()
  const current = settingsSections.find((name) => name === section) ?? 'models'
  return (
    <div className={style.settings}>
      <nav className={style.nav} aria-label={t('nav.settings')}>
        {settingsSections.map((name) => (
          <Link
            key={name}
            href={routes.setting.to(name)}
            className={style.item ?? ''}
            aria-current={name === current ? 'page' : undefined}
            ref={name === current ? scrollIntoRow : undefined}
          >
            {t(`settings.${name}`)}
          </Link>
        ))}
      </nav>
      <section className={style.content} aria-labelledby="settings-title">
        <h2 id="settings-title">{t(`settings.${current}`)}</h2>
        <Section section={current} {...(name !== undefined && { name })} />
      </section>
    </div>
  )
}

function Section({ section, name }: { section: SettingsSection; name?: string }): ReactNode {
  switch (section) {
    case 'models':
      return <Models />
    case 'servers':
      return <ServerSettings />
    case 'registry':
      return <RegistrySection {...(name !== undefined && { name })} />
    case 'secrets':
      return <Secrets />
    case 'config':
      return <Configuration />
    case 'folders':
      return <Folders />
    case 'surfaces':
      return <Surfaces />
    case 'look':
      return <Appearance />
  }
}
