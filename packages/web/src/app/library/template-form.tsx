import { type ReactNode, useCallback, useState } from 'react'
import { useLocation } from 'wouter'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Note } from '../ui/ui.tsx'
import { CompletedField } from './completed-field.tsx'

/** The variables of a resource template; filled in, they make the URI of a resource. */
export function TemplateForm({
  server,
  uriTemplate,
  description,
}: {
  server: string
  uriTemplate: string
  description: UntrustedText | undefined
}): ReactNode {
  const t = useText()
  const [, navigate] = useLocation()
  const { client } = useHost()
  const { data: fields, error } = useRead('library.fields', { uriTemplate })
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const open = useAction(
    useCallback(async () => {
      const filledValues = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
      const uri = await client.call('library.expand', { uriTemplate, values: filledValues })
      navigate(routes.resource.to(server, uri))
    }, [client, uriTemplate, values, navigate, server]),
  )
  const problem = error ?? open.error
  return (
    <form
      className={screen.stack}
      onSubmit={(event) => {
        event.preventDefault()
        void open.run()
      }}
    >
      {description !== undefined && (
        <p className={screen.muted}>
          <SafeText text={description} maxCharacters={400} />
        </p>
      )}
      {fields?.map(({ name, required }) => {
        const key = plainText(name)
        return (
          <CompletedField
            key={key}
            server={server}
            of={{ template: uriTemplate }}
            argument={key}
            required={required}
            value={values[key] ?? ''}
            chosen={values}
            onChange={(value) => setValues({ ...values, [key]: value })}
          />
        )
      })}
      {problem != null && (
        <Note tone="danger" live>
          <HostText text={untrusted(problem.message)} />
        </Note>
      )}
      <div className={screen.bar}>
        <Button type="submit" look="primary" isOff={open.isRunning}>
          {t('library.openResource')}
        </Button>
      </div>
    </form>
  )
}
