import { Construct } from 'constructs';

/**
 * A document of another kind, kept as text: parsed and written anew, YAML 1.1 words (`on`, dates, `0777`) would depend on
 * which reader we are.
 */
export class PassThroughDocument extends Construct {
  readonly text: string;

  constructor(scope: Construct, id: string, text: string) {
    super(scope, id);
    this.text = text;
  }
}
