"""Gates that hold: growth rules, strict cooks, shrunken sources, outputs as inputs of a build."""
from command_line import CommandLine
from hobtest import main


class Gates(CommandLine):
    def test_a_growth_rule_that_cannot_hold_is_an_error(self):
        for rule, said in (('{"nonsense": "0%"}', "there is no number 'nonsense'; there are bytes, mesh_bytes"),
                           ('{"bytse": "0%"}', "there is no number 'bytse'; did you mean 'bytes'?"),
                           ('{"bytes": 100}', 'did you mean "100%"?'), ('{"bytes": "nan%"}', "must be a percentage"),
                           ('{"bytes": -1}', "must be a percentage"), ('{"bytes": "1"}', "must be a percentage"),
                           ('{"bytes": "5%", "materails": "1%"}', "did you mean 'materials'?"),
                           ("{}", "no JSON object of percentages"), ('{"bytes"', "no JSON object of percentages")):
            with self.subTest(rule):
                self.assertIn(said, self.hob("diff", "--from", "1", "--url", "127.0.0.1:1", "--max-growth", rule, code=2)[1])
        for budget, near in (('{"budget":{"triangels":5}}', "budget.triangles"), ('{"budgets":{"triangles":5}}', "budget")):
            self.assertIn(f"did you mean '{near}'?", self.hob("cook", self.art, "--settings", budget, code=2)[1])


if __name__ == "__main__":
    main()
