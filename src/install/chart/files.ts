/**
 * The Helm chart `install/chart`, as texts by file name below `install/`. Its templates are the objects of `install/*.yaml` with the
 * chart's values in them. What Helm adds by itself (labels, annotations of the release) is not written here.
 */
import packageJson from '../../../package.json' with { type: 'json' };
import { crdText } from '../../runnergroup/crd.ts';
import { toJsonSchema } from '../../runnergroup/json-schema.ts';
import { yamlText } from '../../runnergroup/yaml-text.ts';
import { comment, HEADER } from '../manifest-file.ts';
import { NAME } from '../names.ts';
import { crdTemplate, templates } from './templates.ts';
import { HELPERS, NOTES, SETTINGS_TEMPLATE } from './texts.ts';
import { ChartValues } from './values.ts';
import { valuesText } from './values-text.ts';

/** Versions of Kubernetes that know everything in the templates; the rules of the CRD need 1.25. */
const KUBE_VERSION = '>=1.25.0-0';

/** File name below `install/` -> text. */
export function chartFiles(): Readonly<Record<string, string>> {
  const schema = toJsonSchema(ChartValues);
  return {
    'chart/Chart.yaml': `${HEADER}${yamlText(chart())}`,
    'chart/values.yaml': `${HEADER}${comment(VALUES)}${valuesText(schema)}`,
    'chart/values.schema.json': `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`,
    'chart/templates/_helpers.tpl': HELPERS,
    'chart/templates/NOTES.txt': NOTES,
    'chart/templates/settings.yaml': SETTINGS_TEMPLATE,
    'chart/templates/crd.yaml': crdTemplate(crdText()),
    ...templates(),
  };
}

const VALUES = 'All values of the chart, with their defaults: docs/helm.md. Name only those that you change.';

function chart(): unknown {
  const { version, description, homepage, license } = packageJson;
  return {
    apiVersion: 'v2',
    type: 'application',
    // Not that of the npm package: both are files of one release.
    name: NAME,
    description,
    version,
    appVersion: version,
    kubeVersion: KUBE_VERSION,
    home: homepage,
    annotations: { 'artifacthub.io/license': license },
  };
}
